package rpc_test

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// canary is a key that is looked for wherever it must not be, and its secret too.
const (
	canary       = "c0ffee00deadbeefc0ffee00feed" + "3397"
	canarySecret = "5ec2e7cafe5ec2e7cafe5ec2e7cafe5ec2e7cafe"
)

// canaryRequests carry the key in every way a client might, right and wrong.
func canaryRequests(t *testing.T, s *service) (list []*http.Request) {
	add := func(method, path, body string, header ...string) {
		list = append(list, request(t, method, s.rpc+path, body, header...))
	}
	for _, path := range []string{
		"/devnet/v3/" + canary, "/v3/" + canary, "/nope/v3/" + canary, "/devnet/v3/" + canary + "/more", "/devnet/v3/" + canary + canary,
		"/devnet/v3/" + strings.ToUpper(canary), "/devnet/v3/x?key=" + canary, "/v4/" + canary, "/" + canary, "/" + canary + "/v3/" + keyA,
		"/devnet/ws/v3/" + canary, "/devnet/v3/%63" + canary[1:],
	} {
		for _, method := range []string{"POST", "GET", "OPTIONS", "DELETE"} {
			add(method, path, chainID)
		}
	}
	path := "/devnet/v3/" + canary
	for _, body := range []string{"", "{", "[]", `{"jsonrpc":"2.0","id":1,"method":"eth_nope"}`, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}]}`, strings.Repeat(" ", bodyLimit+1)} {
		add("POST", path, body)
	}
	add("POST", path, "x", "Content-Encoding", "gzip")
	add("POST", path, chainID, "Content-Type", "text/plain")
	for _, basic := range []string{canary + ":" + canarySecret, ":" + canarySecret, canarySecret + ":" + canary, canary} {
		for _, to := range []string{path, "/devnet/v3", "/devnet/ws/v3/" + canary, "/nope/v3"} {
			add("POST", to, chainID, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basic)))
		}
	}
	add("POST", "/devnet/v3/short", chainID, "Authorization", "Bearer "+canary, "X-API-Key", canary, "Referer", "http://x/v3/"+canary, "Cookie", "key="+canary)
	return list
}

// rawCanaries are not even requests.
var rawCanaries = []string{
	"POST /devnet/v3/" + canary + " HTTP/9.9\r\n\r\n",
	"POST /devnet/v3/" + canary + "\r\n\r\n",
	"POST /devnet/v3/" + canary + " HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
	"POST /devnet/v3/" + canary + " HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
	"POST /devnet/v3/" + canary + " HTTP/1.1\r\nHost: " + canary + ".localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n12",
	"POST /devnet/v3/" + canary + "\nX: y HTTP/1.1\r\n\r\n",
	"GET /devnet/ws/v3/" + canary + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + canary, // TLS to a plain port
}

// TestKeyStaysSecret sends the canary everywhere and then searches what an
// operator or another client can see: answers, logs, metrics, profiles.
func TestKeyStaysSecret(t *testing.T) {
	s, err := launch(t.TempDir(), only("devnet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddKey("canary", "free", canary, canarySecret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for _, req := range canaryRequests(t, s) {
		res, body := do(t, req)
		head, err := httputil.DumpResponse(res, false)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(head)
		seen.WriteString(body)
	}
	for _, text := range rawCanaries {
		c := rawDial(t, s)
		c.send(text)
		if res := c.response(300 * time.Millisecond); res != nil {
			head, _ := httputil.DumpResponse(res, true)
			seen.Write(head)
		}
	}
	socket := dial(t, s.ws("devnet", canary))
	ask(t, socket, "eth_subscribe", `["newHeads"]`)
	ask(t, socket, "eth_nope", "[]")
	write(t, socket, "{")
	seen.WriteString(read(t, socket))
	for _, page := range []string{"/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline", "/readyz"} {
		_, body := do(t, request(t, "GET", s.admin+page, ""))
		seen.WriteString(body)
	}
	seen.WriteString(s.logs.String())
	_ = socket.CloseNow()
	if err := s.Close(); err != nil { // what was recorded is in the store then
		t.Fatal(err)
	}
	seen.WriteString(everyFile(t, s.Dir))
	seen.WriteString(s.logs.String())
	text := strings.ToLower(seen.String())
	for _, secret := range []string{canary[:12], canarySecret[:12], hex.EncodeToString([]byte(canary[:8])), base64.StdEncoding.EncodeToString([]byte(canary[:9]))} {
		if at := strings.Index(text, strings.ToLower(secret)); at >= 0 {
			t.Errorf("the key or its secret is in %q", text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if !strings.Contains(text, "nodegate_rpc_requests_total") || !strings.Contains(text, "invalid api key") {
		t.Error("the search has nothing to search in")
	}
}

// everyFile is the data folder as whoever steals the disk reads it.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil || !strings.Contains(all.String(), "canary@example.com") {
		t.Fatalf("the store can't be searched: %v", err)
	}
	return all.String()
}
