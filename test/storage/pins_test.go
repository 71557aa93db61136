package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	pinclient "github.com/ipfs/boxo/pinning/remote/client"
	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// missingCID is of content that is nowhere.
const missingCID = "QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ"

// remote is IPFS' own client of the pinning service API, for a tenant.
func (n *tenant) remote() *pinclient.Client {
	return pinclient.NewClient(n.base, n.key+"."+n.secret)
}

// everyStatus lists requests whatever has become of them.
var everyStatus = pinclient.PinOpts.FilterStatus(pinclient.StatusQueued, pinclient.StatusPinning, pinclient.StatusPinned, pinclient.StatusFailed)

func decode(t testing.TB, text string) cid.Cid {
	t.Helper()
	id, err := cid.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// asks makes a request that must be answered with a status.
func asks(t testing.TB, c *pinclient.Client, id string, want pinclient.Status, options ...pinclient.AddOption) pinclient.PinStatusGetter {
	t.Helper()
	p, err := c.Add(t.Context(), decode(t, id), options...)
	if err != nil {
		t.Fatal(err)
	}
	if p.GetStatus() != want {
		t.Fatalf("the request for %s is %s: %v, want %s", id, p.GetStatus(), p.GetInfo(), want)
	}
	return p
}

// listed are the names of requests, newest first; one without a name is shown by its CID.
func listed(t testing.TB, c *pinclient.Client, options ...pinclient.LsOption) (names []string) {
	t.Helper()
	list, err := c.LsSync(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if name := p.GetPin().GetName(); name != "" {
			names = append(names, name)
		} else {
			names = append(names, p.GetPin().GetCid().String())
		}
	}
	return names
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// loose adds content without a pin.
func (n *tenant) loose(t testing.TB, content string) string {
	t.Helper()
	return n.add(t, "pin=false", file("x", []byte(content)))[0]
}

// TestPins drives the pinning service with IPFS' own client: requests are made, found,
// replaced and removed, and the pins follow.
func TestPins(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	c, one, two := n.remote(), n.loose(t, "pins one"), n.loose(t, "pins two")
	opts := pinclient.PinOpts
	meta := map[string]string{"app": "x", "größe": "1"}
	p := asks(t, c, one, pinclient.StatusPinned, opts.WithName("One"), opts.AddMeta(meta))
	if !maps.Equal(p.GetPin().GetMeta(), meta) || p.GetPin().GetCid().String() != one || time.Since(p.GetCreated()).Abs() > time.Minute {
		t.Errorf("the request: %v", p)
	}
	if pin := n.pins(t)[one]; pin.Type != "recursive" || pin.Name != "One" {
		t.Errorf("the pin: %v", pin)
	}
	asks(t, c, two, pinclient.StatusPinned, opts.WithName("Two"))
	again := asks(t, c, one, pinclient.StatusPinned, opts.WithName("one again"))
	if again.GetRequestId() == p.GetRequestId() {
		t.Error("two requests have one id")
	}
	equal(t, "all", listed(t, c), []string{"one again", "Two", "One"})
	equal(t, "by CID", listed(t, c, opts.FilterCIDs(decode(t, two), decode(t, missingCID))), []string{"Two"})
	equal(t, "by name", listed(t, c, opts.FilterName("One")), []string{"One"})
	equal(t, "failed", listed(t, c, opts.FilterStatus(pinclient.StatusFailed)), nil)
	equal(t, "before", listed(t, c, opts.FilterBefore(again.GetCreated())), []string{"Two", "One"})
	equal(t, "after", listed(t, c, opts.FilterAfter(p.GetCreated())), []string{"one again", "Two"})
	equal(t, "in pages", listed(t, c, opts.Limit(1)), []string{"one again", "Two", "One"})

	got, err := c.GetStatusByID(t.Context(), p.GetRequestId())
	if err != nil || got.GetRequestId() != p.GetRequestId() || !got.GetCreated().Equal(p.GetCreated()) {
		t.Errorf("by id: %v, %v", got, err)
	}
	other := newTenant(t).remote()
	if _, err := other.GetStatusByID(t.Context(), p.GetRequestId()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("another account's request: %v", err)
	}
	if err := other.DeleteByID(t.Context(), p.GetRequestId()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("deleting another account's request: %v", err)
	}

	for _, id := range []string{p.GetRequestId(), again.GetRequestId()} {
		if n.pins(t)[one].Type == "" {
			t.Error("the pin is gone although a request needs it")
		}
		if err := c.DeleteByID(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetStatusByID(t.Context(), id); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("a deleted request: %v", err)
		}
	}
	if _, there := n.pins(t)[one]; there {
		t.Error("the pin is there although no request needs it")
	}
	equal(t, "the rest", listed(t, c, everyStatus), []string{"Two"})
}

// TestPinsReplace replaces requests; one that can't be pinned leaves the other.
func TestPinsReplace(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	c, one, two, opts := n.remote(), n.loose(t, "replace one"), n.loose(t, "replace two"), pinclient.PinOpts
	p := asks(t, c, one, pinclient.StatusPinned, opts.WithName("a"))
	q, err := c.Replace(t.Context(), p.GetRequestId(), decode(t, two), opts.WithName("b"))
	if err != nil || q.GetStatus() != pinclient.StatusPinned || q.GetRequestId() == p.GetRequestId() {
		t.Fatalf("replaced: %v, %v", q, err)
	}
	equal(t, "the requests", listed(t, c), []string{"b"})
	equal(t, "the pins", slices.Collect(maps.Keys(n.pins(t))), []string{two})
	if _, err := c.GetStatusByID(t.Context(), p.GetRequestId()); err == nil {
		t.Error("the replaced request is there")
	}
	if _, err := c.Replace(t.Context(), p.GetRequestId(), decode(t, one)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("replacing what is gone: %v", err)
	}
	renamed, err := c.Replace(t.Context(), q.GetRequestId(), decode(t, two), opts.WithName("c"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after a new name", listed(t, c), []string{"c"})
	failed, err := c.Replace(t.Context(), renamed.GetRequestId(), decode(t, missingCID), opts.WithName("d"))
	if err != nil || failed.GetStatus() != pinclient.StatusFailed {
		t.Errorf("by what is not here: %v, %v", failed, err)
	}
	equal(t, "after a failure", listed(t, c, everyStatus), []string{"d", "c"})
	equal(t, "the pins at the end", slices.Collect(maps.Keys(n.pins(t))), []string{two})
}

// TestPinsMissing asks for content that is not here: that fails at once, and says why.
func TestPinsMissing(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	p := asks(t, n.remote(), missingCID, pinclient.StatusFailed)
	if why := p.GetInfo()["status_details"]; !strings.Contains(why, "not stored here") || !strings.Contains(why, missingCID) {
		t.Errorf("the reason: %q", why)
	}
	if len(n.pins(t)) != 0 {
		t.Error("something is pinned")
	}
	equal(t, "by status", listed(t, n.remote(), pinclient.PinOpts.FilterStatus(pinclient.StatusFailed)), []string{missingCID})
	equal(t, "pinned", listed(t, n.remote()), nil)
	if err := n.remote().DeleteByID(t.Context(), p.GetRequestId()); err != nil {
		t.Error(err)
	}
}

// TestPinsOneSet: pins of other commands are requests too, and requests are pins.
func TestPinsOneSet(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	c, opts := n.remote(), pinclient.PinOpts
	mine := n.add(t, "pin-name=mine", file("x", []byte("one set")))[0]
	direct := n.loose(t, "one set, direct")
	n.ok(t, "pin/add?recursive=false&arg="+direct)
	equal(t, "the pins of others", listed(t, c), []string{"mine"})
	list, err := c.LsSync(t.Context(), opts.FilterCIDs(decode(t, mine)))
	if err != nil || len(list) != 1 {
		t.Fatalf("by CID: %v, %v", list, err)
	}
	id, created := list[0].GetRequestId(), list[0].GetCreated()
	if strings.ContainsAny(id, "/?# ") {
		t.Errorf("the id %q does not fit into a path", id)
	}

	asked := asks(t, c, mine, pinclient.StatusPinned, opts.WithName("asked"))
	equal(t, "both", listed(t, c), []string{"asked", "mine"})
	if got, err := c.GetStatusByID(t.Context(), id); err != nil || !got.GetCreated().Equal(created) {
		t.Errorf("the id of a pin beside another request: %v, %v", got, err)
	}
	if err := c.DeleteByID(t.Context(), asked.GetRequestId()); err != nil {
		t.Fatal(err)
	}
	equal(t, "the one that was there", listed(t, c), []string{"mine"})
	other := newTenant(t)
	other.ok(t, "pin/add?arg="+mine)
	if _, err := other.remote().GetStatusByID(t.Context(), id); err == nil {
		t.Error("another account that pins the same finds this account's request")
	}

	n.ok(t, "pin/rm?arg="+mine)
	equal(t, "after pin/rm", listed(t, c, everyStatus), nil)
	if _, err := c.GetStatusByID(t.Context(), id); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("after pin/rm: %v", err)
	}
	n.ok(t, "pin/add?arg="+mine)
	if err := c.DeleteByID(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, there := n.pins(t)[mine]; there {
		t.Error("deleting the request leaves the pin")
	}
}

// TestPinsPages pages through more requests than an answer has, of both kinds.
func TestPinsPages(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	want := map[string]bool{}
	var parts []part
	for i := range 15 {
		parts = append(parts, file(fmt.Sprint(i), fmt.Appendf(nil, "page %d", i)))
	}
	for _, id := range n.add(t, "", parts...) {
		want[id] = true
	}
	for i := range 17 {
		id := n.loose(t, fmt.Sprintf("page %d of the others", i))
		asks(t, n.remote(), id, pinclient.StatusPinned)
		want[id] = true
	}
	for _, limit := range []int{1, 3, 10, 1000} {
		got := map[string]bool{}
		for _, id := range listed(t, n.remote(), pinclient.PinOpts.Limit(limit)) {
			if got[id] {
				t.Errorf("limit %d: %s twice", limit, id)
			}
			got[id] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("limit %d: %d requests, want %d", limit, len(got), len(want))
		}
	}
}

// pinsDo makes a plain request to the pinning service.
func (n *tenant) pinsDo(t testing.TB, method, path, token, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	return send(req)
}

// TestPinsFilters are the filters that the client above doesn't have.
func TestPinsFilters(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for name, meta := range map[string]string{"Photos": "a", "photos": "b", "Photos of May": "a"} {
		asks(t, n.remote(), n.loose(t, name), pinclient.StatusPinned, pinclient.PinOpts.WithName(name), pinclient.PinOpts.AddMeta(map[string]string{"album": meta, "k": "v"}))
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"name=Photos", []string{"Photos"}},
		{"name=Photos&match=exact", []string{"Photos"}},
		{"name=PHOTOS&match=iexact", []string{"Photos", "photos"}},
		{"name=Photo&match=partial", []string{"Photos", "Photos of May"}},
		{"name=OTO&match=ipartial", []string{"Photos", "Photos of May", "photos"}},
		{"meta=" + url.QueryEscape(`{"album":"a"}`), []string{"Photos", "Photos of May"}},
		{"meta=" + url.QueryEscape(`{"album":"a","k":"x"}`), nil},
		{"status=pinned,failed&limit=1000", []string{"Photos", "Photos of May", "photos"}},
		{"status=queued&status=pinning", nil},
	} {
		a := n.pinsDo(t, "GET", "/pins?"+c.query, "Bearer "+n.key+"."+n.secret, "")
		var page struct {
			Count   int
			Results []struct{ Pin struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", c.query, a.status, a.body, err)
		}
		var got []string
		for _, r := range page.Results {
			got = append(got, r.Pin.Name)
		}
		slices.Sort(got)
		equal(t, c.query, got, c.want)
		if page.Count != len(c.want) {
			t.Errorf("%s: count is %d", c.query, page.Count)
		}
	}
}

// TestPinsRefusals are errors in the form of the specification.
func TestPinsRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *config.Config) { c.Plans["small"] = config.Plan{StoredBytes: 1000} })
	n := s.tenant(t, "pins", "unlimited")
	token, big := "Bearer "+n.key+"."+n.secret, strings.Repeat("x", 300)
	noStorage := s.tenantWith(t, "pins-rpc", "unlimited", nodegate.KeySettings{Services: []string{nodegate.ServiceRPC}})
	for _, c := range []struct {
		method, path, token, body string
		status                    int
		reason                    string
	}{
		{"GET", "/pins", "", "", 401, "UNAUTHORIZED"},
		{"GET", "/pins", "Bearer ", "", 401, "UNAUTHORIZED"},
		{"GET", "/pins", "Bearer nobody.secret", "", 401, "UNAUTHORIZED"},
		{"GET", "/pins", "Bearer " + n.key, "", 401, "UNAUTHORIZED"},
		{"GET", "/pins", "Bearer " + n.key + "." + noStorage.secret, "", 401, "UNAUTHORIZED"},
		{"GET", "/pins", "bearer " + n.key + "." + n.secret, "", 200, ""},
		{"GET", "/pins/", token, "", 200, ""},
		{"GET", "/pins", "Bearer " + noStorage.key + "." + noStorage.secret, "", 403, "FORBIDDEN"},
		{"PUT", "/pins", token, "", 405, "HTTP_METHOD"},
		{"DELETE", "/pins", token, "", 405, "HTTP_METHOD"},
		{"GET", "/pins/nothing", token, "", 404, "NOT_FOUND"},
		{"GET", "/pins/" + big, token, "", 404, "NOT_FOUND"},
		{"DELETE", "/pins/nothing", token, "", 404, "NOT_FOUND"},
		{"GET", "/pins/a%00b", token, "", 404, "NOT_FOUND"},
		{"POST", "/pins/nothing", token, `{"cid":"` + missingCID + `"}`, 404, "NOT_FOUND"},
		{"GET", "/pins?limit=0", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?limit=1001", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?status=done", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?match=like", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?before=yesterday", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?cid=x", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?cid=" + strings.Repeat(missingCID+",", 11), token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?meta=map[a:b]", token, "", 400, "BAD_REQUEST"},
		{"GET", "/pins?name=" + big, token, "", 400, "BAD_REQUEST"},
		{"POST", "/pins", token, "", 400, "BAD_REQUEST"},
		{"POST", "/pins", token, "{}", 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"x"}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","name":"` + big + `"}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","name":"a\u0000"}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","meta":{"a":1}}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","meta":{"a":"` + strings.Repeat(big, 220) + `"}}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","origins":["x"]}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + missingCID + `","origins":[` + strings.TrimSuffix(strings.Repeat(`"/p2p/x",`, 21), ",") + `]}`, 400, "BAD_REQUEST"},
		{"POST", "/pins", token, `{"cid":"` + strings.Repeat(big, 1000) + `"}`, 413, "TOO_LARGE"},
	} {
		a := n.pinsDo(t, c.method, c.path, c.token, c.body)
		var e struct {
			Error struct{ Reason, Details string }
		}
		_ = json.Unmarshal([]byte(a.body), &e)
		if a.status != c.status || e.Error.Reason != c.reason || (c.reason != "") != (e.Error.Details != "") {
			t.Errorf("%s %.80s %.60s: %d %.300s, want %d %s", c.method, c.path, c.body, a.status, a.body, c.status, c.reason)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" && c.status != 403 {
			t.Errorf("%s %s: no page can read the answer", c.method, c.path)
		}
	}
	small := s.tenant(t, "pins-small", "small")
	p := asks(t, small.remote(), n.loose(t, strings.Repeat("too much ", 1000)), pinclient.StatusFailed)
	if why := p.GetInfo()["status_details"]; why != "storage quota reached" {
		t.Errorf("beyond the quota: %q", why)
	}
	if logs := s.Logs.String(); strings.Contains(logs, n.secret) || strings.Contains(logs, n.key) {
		t.Error("a key or its secret is in the log")
	}
}

// TestPinsPreflight lets pages of other origins use the service.
func TestPinsPreflight(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for path, want := range map[string]string{"/pins": "GET, POST, OPTIONS", "/pins/x": "DELETE, GET, POST, OPTIONS"} {
		a := n.pinsDo(t, "OPTIONS", path, "", "")
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Methods") != want || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
}

// TestPinsRestart: ids, times, metadata and failures are the same after a restart.
func TestPinsRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "pins-restart", "unlimited")
	n.add(t, "pin-name=added", file("x", []byte("restart, added")))
	asks(t, n.remote(), n.loose(t, "restart, asked"), pinclient.StatusPinned, pinclient.PinOpts.WithName("asked"), pinclient.PinOpts.AddMeta(map[string]string{"a": "b"}))
	asks(t, n.remote(), missingCID, pinclient.StatusFailed)
	texts := func() (list []string) {
		pins, err := n.remote().LsSync(t.Context(), everyStatus)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pins {
			list = append(list, fmt.Sprint(p.GetRequestId(), p.GetStatus(), p.GetCreated(), p.GetPin().GetCid(), p.GetPin().GetName(), p.GetPin().GetMeta(), p.GetInfo()))
		}
		return list
	}
	before := texts()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = launch(dir, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n.service = s
	if equal(t, "after a restart", texts(), before); len(before) != 3 {
		t.Errorf("%d requests", len(before))
	}
}

// network is a node's way into a network: what is asked of it without offline=true comes
// as soon as somebody has it.
func network(t *testing.T, node *tenant, asked chan<- struct{}) config.KuboEndpoint {
	return tampering(t, node.asNode(), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.URL.Path == "/api/v0/block/get" && req.URL.Query().Get("offline") == "" {
			select {
			case asked <- struct{}{}:
			default:
			}
			for req.Context().Err() == nil && !node.stored(req.URL.Query().Get("arg")) {
				time.Sleep(20 * time.Millisecond)
			}
		}
		next.ServeHTTP(w, req)
	})
}

// TestPinsFetch asks for content that has to be fetched: that goes on in the background,
// also after a restart, and what was deleted meanwhile is not pinned.
func TestPinsFetch(t *testing.T) {
	t.Parallel()
	node := start(t, nil).tenant(t, "node", "unlimited")
	asked := make(chan struct{}, 1)
	change := both(overKubo(network(t, node, asked)), func(c *config.Config) { c.Storage.Timeout = 20 * time.Second })
	dir := t.TempDir()
	s, err := launch(dir, change)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "fetching", "unlimited")
	content := []string{"fetched one", "fetched two", "fetched three"}
	var ids []string
	for i, text := range content {
		id := newTenant(t).add(t, "", file("x", []byte(text)))[0]
		p, err := n.remote().Add(t.Context(), decode(t, id))
		if err != nil {
			t.Fatal(err)
		}
		if want := []pinclient.Status{pinclient.StatusPinning, pinclient.StatusPinning, pinclient.StatusQueued}[i]; p.GetStatus() != want {
			t.Errorf("request %d is %s, want %s", i, p.GetStatus(), want)
		}
		ids = append(ids, p.GetRequestId())
	}
	<-asked
	if err := n.remote().DeleteByID(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = launch(dir, change); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n.service = s
	for _, text := range content {
		node.add(t, "pin=false", file("x", []byte(text)))
	}
	until(t, "the requests are pinned", func() bool {
		list, err := n.remote().LsSync(t.Context())
		return err == nil && len(list) == 2
	})
	if p, err := n.remote().GetStatusByID(t.Context(), ids[0]); err != nil || p.GetStatus() != pinclient.StatusPinned {
		t.Errorf("the first request: %v, %v", p, err)
	}
	if len(n.pins(t)) != 2 {
		t.Errorf("pins: %v", n.pins(t))
	}
}

// TestPinsKill kills a server while clients ask for pins and remove them. What was
// acknowledged is there, under its id, and what was removed is not.
func TestPinsKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "pins-killed", "unlimited")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, removed := map[string]string{}, map[string]bool{}
	for round := range 5 {
		p := runProcess(t, dir)
		at := *n
		at.service = &service{base: p.base}
		killed := time.AfterFunc(time.Hour, p.kill)
		for i := 0; ; i++ {
			if i == 4 { // so that something is done, however slow the machine is
				killed.Reset(time.Duration(100*round) * time.Millisecond)
			}
			a := at.upload("add?pin=false", file("x", fmt.Appendf(nil, "kill %d %d", round, i)))
			if a.err != nil || a.status != http.StatusOK {
				break
			}
			cid := hashes(t, a.body)[0]
			got, err := at.remote().Add(context.Background(), decode(t, cid))
			if err != nil {
				break
			}
			if i%3 != 0 {
				kept[got.GetRequestId()] = cid
				continue
			}
			if at.remote().DeleteByID(context.Background(), got.GetRequestId()) == nil {
				removed[got.GetRequestId()] = true
			}
		}
		killed.Stop()
		p.kill()
	}
	p := runProcess(t, dir)
	defer p.kill()
	n.service = &service{base: p.base}
	for id, cid := range kept {
		n.untilPinned(t, id, cid)
	}
	pins := n.pins(t)
	for id, cid := range kept {
		if pins[cid].Type != "recursive" {
			t.Errorf("%s was acknowledged, and %s is not pinned", id, cid)
		}
	}
	for id := range removed {
		if _, err := n.remote().GetStatusByID(t.Context(), id); err == nil {
			t.Errorf("%s was removed and is there", id)
		}
	}
	t.Logf("%d requests and %d removals were acknowledged", len(kept), len(removed))
	if len(kept) < 5 || len(removed) == 0 {
		t.Error("too little was done between the kills to show anything")
	}
}

// untilPinned waits for a request that was acknowledged. Where the disk is slow, it was before
// its content was pinned, and whoever takes over from a killed server waits for its lease to end.
func (n *tenant) untilPinned(t *testing.T, id, cid string) {
	t.Helper()
	until(t, "request "+id+" is pinned", func() bool {
		got, err := n.remote().GetStatusByID(t.Context(), id)
		if err != nil {
			t.Fatalf("%s was acknowledged: %v", id, err)
		}
		return got.GetStatus() == pinclient.StatusPinned && got.GetPin().GetCid().String() == cid
	})
}
