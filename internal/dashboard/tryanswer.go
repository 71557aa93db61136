package dashboard

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/dashboard/abi"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

// tried is what came of a request.
type tried struct {
	OK      bool
	Status  int
	Body    string
	Cut     bool // there was more than the page shows
	Took    time.Duration
	Credits string
	Cache   string
	// Verified is how well the answer was verified, "" for the word of a node.
	Verified string
	Node     string
	Open     string // its page among the requests; "" is none
	Headers  []header

	Decoded    []*abi.Decoded // by the ABI that was pasted
	ABIProblem string

	raw []byte
}

type header struct{ Name, Value string }

// shownHeaders are those that a client would see too.
var shownHeaders = []string{"X-Request-Id", "X-Cache", "X-Verified", "X-Head-Age", "Server-Timing", "Retry-After", "X-Credits"}

// triedOf reads an answer and its headers.
func triedOf(c *captured, took time.Duration) *tried {
	t := &tried{
		Status: c.status, Cut: c.over, Took: took, Credits: c.header.Get("X-Credits"), Cache: c.header.Get("X-Cache"), Verified: c.header.Get("X-Verified"),
		Node: nodeOf(c.header.Get("Server-Timing")), Body: pretty(c.body.Bytes()), raw: c.body.Bytes(),
	}
	for _, name := range shownHeaders {
		if value := c.header.Get(name); value != "" {
			t.Headers = append(t.Headers, header{name, value})
		}
	}
	if id := c.header.Get("X-Request-Id"); id != "" {
		t.Open = "/requests?open=" + id + ".0#request"
	}
	t.OK = c.status == http.StatusOK && (c.over || t.succeeded())
	if t.Credits == "" {
		t.Credits = "0"
	}
	return t
}

// succeeded tells whether no request of the body failed.
func (t *tried) succeeded() bool {
	list, ok := t.envelopes()
	for _, e := range list {
		ok = ok && e.Error == nil
	}
	return ok
}

// outcome is the part of an envelope that differs.
type outcome struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct{ Data json.RawMessage }
}

// envelopes reads a single answer or those of a batch.
func (t *tried) envelopes() (list []outcome, ok bool) {
	body := t.raw
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		body = append(append([]byte{'['}, body...), ']')
	}
	return list, json.Unmarshal(body, &list) == nil
}

// decode reads results, logs and the data of reverts by the ABI that was pasted.
func (t *tried) decode(d *tryData, b *apidoc.Book) {
	if strings.TrimSpace(d.ABI) == "" {
		return
	}
	a, err := abi.Parse(d.ABI)
	if err != nil {
		t.ABIProblem = "The ABI can't be used: " + err.Error() + "."
		return
	}
	list, _ := t.envelopes()
	dataOf := d.callsOf(b)
	for _, e := range list {
		if e.Error != nil {
			err = t.add(a.Revert(hexBytes(e.Error.Data)))
		} else {
			err = t.decodeResult(a, e.Result, func() ([]byte, error) { return dataOf(e.ID) })
		}
		if errors.Is(err, abi.ErrLarge) {
			break
		}
	}
	switch {
	case len(t.Decoded) > 0 && errors.Is(err, abi.ErrLarge):
		t.ABIProblem = "Only the first part was decoded: " + err.Error() + "."
	case len(t.Decoded) > 0:
	case err != nil:
		t.ABIProblem = "Nothing was decoded: " + err.Error() + "."
	default:
		t.ABIProblem = "Nothing was decoded: the response has neither bytes that a function returned nor logs."
	}
}

func (t *tried) add(d *abi.Decoded, err error) error {
	if err == nil && len(t.Decoded) == maxDecoded {
		return abi.ErrLarge
	}
	if err == nil {
		t.Decoded = append(t.Decoded, d)
	}
	return err
}

// maxDecoded is how many results and logs of an answer are shown decoded.
const maxDecoded = 50

// logLine is what is read of a log.
type logLine struct {
	Topics []string
	Data   string
}

// decodeResult decodes bytes that a call returned, or the logs of a list or of a receipt.
func (t *tried) decodeResult(a *abi.ABI, result json.RawMessage, callData func() ([]byte, error)) (err error) {
	if result := hexBytes(result); result != nil {
		data, err := callData()
		if err != nil {
			return err
		}
		return t.add(a.Result(data, result))
	}
	var receipt struct{ Logs []logLine }
	var logs []logLine
	if json.Unmarshal(result, &logs) != nil && json.Unmarshal(result, &receipt) == nil {
		logs = receipt.Logs
	}
	for _, l := range logs {
		topics := make([][]byte, len(l.Topics))
		for i, topic := range l.Topics {
			topics[i], _ = hex.DecodeString(strings.TrimPrefix(topic, "0x"))
		}
		data, _ := hex.DecodeString(strings.TrimPrefix(l.Data, "0x"))
		if err = t.add(a.Log(topics, data)); errors.Is(err, abi.ErrLarge) {
			return err
		}
	}
	return err
}

// errNoCall is for a result of a batch of which it isn't clear which call it belongs to.
var errNoCall = errors.New("a result doesn't belong to exactly one call with data")

// callsOf finds the data of the call that a result, by its id, belongs to.
func (d *tryData) callsOf(b *apidoc.Book) func(id json.RawMessage) ([]byte, error) {
	if d.Mode != fromBatch {
		return func(json.RawMessage) ([]byte, error) { return callData(d.Row, []byte(d.Params)), nil }
	}
	var list []struct {
		ID, Params json.RawMessage
		Method     string
	}
	calls := map[string][]byte{}
	if json.Unmarshal([]byte(batchOf(d.Batch)), &list) != nil {
		list = nil // the service has refused it
	}
	for _, one := range list {
		data := callData(b.Find(one.Method), one.Params)
		if _, twice := calls[string(one.ID)]; twice {
			data = nil
		}
		calls[string(one.ID)] = data
	}
	return func(id json.RawMessage) ([]byte, error) {
		if len(calls[string(id)]) == 0 {
			return nil, errNoCall
		}
		return calls[string(id)], nil
	}
}

// callData is the data of the call that is in the parameters, or nil.
func callData(row *apidoc.Method, params []byte) []byte {
	var list []json.RawMessage
	if row == nil || json.Unmarshal(params, &list) != nil {
		return nil
	}
	for i, p := range row.Params {
		var call struct{ Data, Input json.RawMessage }
		if p.Type != "Call" || i >= len(list) || json.Unmarshal(list[i], &call) != nil {
			continue
		}
		if data := hexBytes(call.Input); data != nil {
			return data
		}
		return hexBytes(call.Data)
	}
	return nil
}

// hexBytes reads a JSON string of hex; nil for anything else.
func hexBytes(raw json.RawMessage) []byte {
	text, err := strconv.Unquote(string(raw))
	digits, ok := strings.CutPrefix(text, "0x")
	if err != nil || !ok {
		return nil
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return data
}

// pretty breaks JSON into lines; what is none, or was cut, stays as it is.
func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

// nodeOf finds the node's name in Server-Timing.
func nodeOf(timing string) string {
	_, rest, found := strings.Cut(timing, "node;dur=")
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, `desc="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
