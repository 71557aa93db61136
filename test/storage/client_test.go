package storage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// part is one part of an upload.
type part struct {
	field, kind, name string
	named             bool // the part has a filename
	content           []byte
}

// file is a part that is a file.
func file(name string, content []byte) part {
	return part{field: "file", kind: "application/octet-stream", name: name, named: true, content: content}
}

// body writes a multipart body.
func body(parts ...part) (kind string, data []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary("----a-boundary-of-the-tests")
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, p.field)
		if p.named {
			disposition += fmt.Sprintf(`; filename="%s"`, p.name)
		}
		h.Set("Content-Disposition", disposition)
		h.Set("Content-Type", p.kind)
		out, _ := w.CreatePart(h)
		_, _ = out.Write(p.content)
	}
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // reading the body broke off
}

// client opens a connection for each request, so that a cut one spoils no other.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxIdleConns: 1},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       60 * time.Second,
}

// request builds a request with the tenant's credentials.
func (n *tenant) request(ctx context.Context, command string, kind string, data io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.base+"/api/v0/"+command, data)
	if err != nil {
		panic(err) // a test's own text
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.SetBasicAuth(n.key, n.secret)
	return req
}

// send makes a request and reads what comes, to the end or to where it breaks off.
func send(req *http.Request) answer {
	res, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: string(data), err: err}
}

// do makes a request without a body.
func (n *tenant) do(command string) answer {
	return send(n.request(context.Background(), command, "", nil))
}

// ok makes a request that must succeed.
func (n *tenant) ok(t testing.TB, command string) string {
	t.Helper()
	a := n.do(command)
	if a.status != http.StatusOK || a.err != nil {
		t.Fatalf("%s: %d %.200q %v", command, a.status, a.body, a.err)
	}
	return a.body
}

// fails makes a request that must fail with a status and a text.
func (n *tenant) fails(t testing.TB, command string, status int, text string) {
	t.Helper()
	if a := n.do(command); a.status != status || !strings.Contains(a.body, text) {
		t.Errorf("%s: %d %.200q, want %d with %q", command, a.status, a.body, status, text)
	}
}

// upload sends parts.
func (n *tenant) upload(command string, parts ...part) answer {
	kind, data := body(parts...)
	return send(n.request(context.Background(), command, kind, bytes.NewReader(data)))
}

// add adds files and returns the CIDs of the lines.
func (n *tenant) add(t testing.TB, options string, parts ...part) []string {
	t.Helper()
	a := n.upload("add?"+options, parts...)
	if a.status != http.StatusOK || a.err != nil {
		t.Fatalf("add?%s: %d %.500s %v", options, a.status, a.body, a.err)
	}
	return hashes(t, a.body)
}

// hashes are the CIDs in the lines of add.
func hashes(t testing.TB, lines string) (list []string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var e struct{ Hash string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%.200q: %v", line, err)
		}
		if e.Hash != "" {
			list = append(list, e.Hash)
		}
	}
	return list
}

// pins are the tenant's own pins by CID.
func (n *tenant) pins(t testing.TB) map[string]struct{ Type, Name string } {
	t.Helper()
	var list struct {
		Keys map[string]struct{ Type, Name string }
	}
	if err := json.Unmarshal([]byte(n.ok(t, "pin/ls?type=recursive&names=true")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Keys
}

// stored tells whether a block is there.
func (n *tenant) stored(cid string) bool { return n.do("block/stat?arg="+cid).status == http.StatusOK }

// pattern is content that differs everywhere and is the same on every run.
func pattern(seed, size int) []byte {
	b := make([]byte, size)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}
