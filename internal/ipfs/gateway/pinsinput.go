package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/pinning"
	"github.com/nodegate/nodegate/internal/web"
)

// What a pin request may hold. The numbers are the specification's; the bytes are ours.
const (
	maxPinsBody    = 256 << 10
	maxPinsName    = 255 // characters
	maxOrigins     = 20
	maxOriginBytes = 1 << 10
	maxMeta        = 1000
	maxMetaBytes   = 64 << 10
	maxPinsCIDs    = 10
	maxPinsLimit   = 1000
	pinsLimit      = 10
)

// ask reads the body of a request for a pin.
func (p *pinsCall) ask() (a pinning.Ask, err error) {
	if kind := p.req.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return a, &nodegate.Error{Op: "storage.pins", Code: nodegate.MediaType, Msg: "the body has to be application/json"}
		}
	}
	body, err := io.ReadAll(io.LimitReader(&countedReader{Reader: web.Paced(p.w, p.req.Body), call: p.call}, maxPinsBody+1))
	if err != nil {
		return a, usageError("the body can't be read: " + err.Error())
	}
	if len(body) > maxPinsBody {
		return a, &nodegate.Error{Op: "storage.pins", Code: nodegate.TooLarge, Msg: fmt.Sprintf("the body is larger than %d bytes: send less metadata", maxPinsBody)}
	}
	var o pinObject
	if err := json.Unmarshal(body, &o); err != nil {
		return a, usageError("the body is no pin object, such as {\"cid\":\"bafy...\",\"name\":\"photos\"}: origins is an array of strings, and meta an object of strings")
	}
	id, err := cid.Decode(o.CID)
	if err != nil {
		return a, usageError(fmt.Sprintf("cid is missing or is no CID: %q", clip(o.CID)))
	}
	return pinning.Ask{CID: id.String(), Name: o.Name, Origins: o.Origins, Meta: o.Meta}, o.check()
}

// check holds what a client sends to its bounds.
func (o *pinObject) check() error {
	if err := checkPinsName(o.Name); err != nil {
		return err
	}
	if len(o.Origins) > maxOrigins {
		return usageError(fmt.Sprintf("origins has %d addresses: at most %d", len(o.Origins), maxOrigins))
	}
	for _, origin := range o.Origins {
		if len(origin) > maxOriginBytes || !strings.HasPrefix(origin, "/") {
			return usageError(fmt.Sprintf("origins has something else than a multiaddr of at most %d bytes: %q", maxOriginBytes, clip(origin)))
		}
	}
	return checkPinsMeta(o.Meta)
}

func checkPinsName(name string) error {
	if utf8.RuneCountInString(name) > maxPinsName || strings.ContainsRune(name, 0) {
		return usageError(fmt.Sprintf("name has at most %d characters, and no zero bytes", maxPinsName))
	}
	return nil
}

func checkPinsMeta(meta map[string]string) error {
	size := 0
	for key, value := range meta {
		size += len(key) + len(value)
	}
	if len(meta) > maxMeta || size > maxMetaBytes {
		return usageError(fmt.Sprintf("meta has %d entries with %d bytes: at most %d with %d", len(meta), size, maxMeta, maxMetaBytes))
	}
	return nil
}

// clip shortens what is repeated in an error.
func clip(text string) string {
	if len(text) > 100 {
		return text[:100] + "..."
	}
	return text
}

// pinsQuery reads the filters of GET /pins.
func pinsQuery(values url.Values) (q pinning.Query, err error) {
	q.Name, q.Match, q.Limit = values.Get("name"), pinning.Match(values.Get("match")), pinsLimit
	if err := checkPinsName(q.Name); err != nil {
		return q, err
	}
	switch q.Match {
	case "", pinning.Exact, pinning.ExactAnyCase, pinning.Partial, pinning.PartialAnyCase:
	default:
		return q, usageError(fmt.Sprintf("match is exact, iexact, partial or ipartial, not %q", clip(string(q.Match))))
	}
	for _, read := range []func(*pinning.Query, url.Values) error{queryCIDs, queryStatuses, queryTimes, queryLimit, queryMeta} {
		if err := read(&q, values); err != nil {
			return q, err
		}
	}
	return q, nil
}

// several are the values of a filter, which stand one by one or between commas.
func several(values url.Values, name string) (list []string) {
	for _, value := range values[name] {
		for one := range strings.SplitSeq(value, ",") {
			if one != "" {
				list = append(list, one)
			}
		}
	}
	return list
}

func queryCIDs(q *pinning.Query, values url.Values) error {
	list := several(values, "cid")
	if len(list) > maxPinsCIDs {
		return usageError(fmt.Sprintf("cid names %d CIDs: at most %d", len(list), maxPinsCIDs))
	}
	for _, text := range list {
		id, err := cid.Decode(text)
		if err != nil {
			return usageError(fmt.Sprintf("cid is no CID: %q", clip(text)))
		}
		if !slices.Contains(q.CIDs, id.String()) {
			q.CIDs = append(q.CIDs, id.String())
		}
	}
	return nil
}

func queryStatuses(q *pinning.Query, values url.Values) error {
	for _, text := range several(values, "status") {
		switch status := nodegate.PinRequestStatus(text); status {
		case nodegate.PinQueued, nodegate.PinPinning, nodegate.PinPinned, nodegate.PinFailed:
			q.Statuses = append(q.Statuses, status)
		default:
			return usageError(fmt.Sprintf("status is queued, pinning, pinned or failed, not %q", clip(text)))
		}
	}
	if q.Statuses == nil {
		q.Statuses = []nodegate.PinRequestStatus{nodegate.PinPinned}
	}
	return nil
}

func queryTimes(q *pinning.Query, values url.Values) error {
	for name, into := range map[string]*time.Time{"before": &q.Before, "after": &q.After} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return usageError(fmt.Sprintf("%s is a time such as 2026-07-27T17:32:28Z, not %q", name, clip(text)))
		}
		*into = t
	}
	return nil
}

func queryLimit(q *pinning.Query, values url.Values) error {
	text := values.Get("limit")
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPinsLimit {
		return usageError(fmt.Sprintf("limit is a number from 1 to %d, not %q", maxPinsLimit, clip(text)))
	}
	q.Limit = n
	return nil
}

func queryMeta(q *pinning.Query, values url.Values) error {
	text := values.Get("meta")
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &q.Meta); err != nil {
		return usageError(`meta is a JSON object of strings, such as {"app_id":"x"}`)
	}
	return checkPinsMeta(q.Meta)
}
