package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

func gateway() *Gateway {
	return New(Config{Log: slog.New(slog.DiscardHandler)})
}

// TestFind walks the forms of a command's path.
func TestFind(t *testing.T) {
	g := gateway()
	for path, want := range map[string]string{
		"cat": "cat []", "cat/Qm": "cat [Qm]", "pin/add": "pin/add []", "pin/add/Qm": "pin/add [Qm]", "pin/ls/Qm": "pin/ls [Qm]",
		"": "", "pin": "", "pin/nope": "", "cat/Qm/below": "", "version/x": "", "add/x": "", "catQm": "", "CAT": "",
	} {
		got := ""
		if c, args := g.find(path, nil); c != nil {
			got = fmt.Sprint(c.name, " ", args)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
	if _, args := g.find("cat/one", []string{"two"}); fmt.Sprint(args) != "[one two]" {
		t.Errorf("arguments: %v", args)
	}
}

// TestCodes walks all codes: each is answered in one of Kubo's two forms, never as a
// success.
func TestCodes(t *testing.T) {
	g := gateway()
	for _, code := range nodegate.Codes() {
		w := httptest.NewRecorder()
		w.Header().Set("X-Chunked-Output", "1")
		w.Header().Set("Content-Length", "7")
		g.refuse(w, &nodegate.Error{Op: "test", Code: code, Msg: "told", Err: errors.New("hidden")})
		kind, body := w.Header().Get("Content-Type"), w.Body.String()
		if w.Header().Get("X-Chunked-Output")+w.Header().Get("Content-Length") != "" {
			t.Errorf("%v: headers of an answer that was not given: %v", code, w.Header())
		}
		switch {
		case strings.Contains(body, "hidden") || w.Header().Get("X-Content-Type-Options") != "nosniff":
			t.Errorf("%v: %s %v", code, body, w.Header())
		case w.Code == http.StatusInternalServerError && kind == "application/json":
			var f failure
			if err := json.Unmarshal([]byte(body), &f); err != nil || f.Type != "error" || f.Message == "" {
				t.Errorf("%v: %s: %v", code, body, err)
			}
		case w.Code < 400 || !strings.HasPrefix(kind, "text/plain") || body != "told\n":
			t.Errorf("%v: %d %s %q", code, w.Code, kind, body)
		}
	}
}

// TestInternal shows an id and keeps the cause for the log.
func TestInternal(t *testing.T) {
	var log bytes.Buffer
	g := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	w := httptest.NewRecorder()
	g.refuse(w, errors.New("the cause"))
	_, rest, found := strings.Cut(w.Body.String(), "internal error (id ")
	id, _, _ := strings.Cut(rest, ")")
	if !found || strings.Contains(w.Body.String(), "the cause") || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "the cause") {
		t.Errorf("answered %s, logged %s", w.Body, log.String())
	}
}

// TestRange: a range that is taken lies in the content; others are ignored.
func TestRange(t *testing.T) {
	for header, want := range map[string]string{
		"bytes=0-0": "bytes 0-0/10", "bytes=3-": "bytes 3-9/10", "bytes=-4": "bytes 6-9/10", "bytes=-99": "bytes 0-9/10", "bytes=8-99": "bytes 8-9/10",
		"": "", "bytes=10-": "", "bytes=5-3": "", "bytes=-0": "", "bytes=-": "", "bytes=a-b": "", "bytes=0-1,4-5": "", "items=0-1": "", "bytes=--3": "",
	} {
		got := ""
		if r, ok := rangeOf(header, 10); ok {
			got = r.String()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", header, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1000).Draw(t, "size")
		header := rapid.StringMatching(`bytes=[-+0-9]{0,22}-[-+0-9,]{0,22}`).Draw(t, "header")
		r, ok := rangeOf(header, size)
		if s := r.span(); ok && (s.Offset < 0 || s.Length < 1 || s.Offset+s.Length > size || s.ToEnd) {
			t.Fatalf("%q of %d is %+v", header, size, s)
		}
	})
}

func rangeOf(header string, size int64) (byteRange, bool) {
	return wantedRange(http.Header{"Range": {header}}, size, `"tag"`)
}

// TestSpanNames: parts of the same content have tags of their own.
func TestSpanNames(t *testing.T) {
	seen := map[string]unixfs.Span{}
	for _, s := range []unixfs.Span{{Offset: 6, ToEnd: true}, {Offset: 6}, {Offset: 0, Length: 6}, {Offset: 6, Length: 6}} {
		if other, there := seen[spanName(s)]; there {
			t.Errorf("%+v and %+v are both %s", s, other, spanName(s))
		}
		seen[spanName(s)] = s
	}
}

// TestBodyArgs reads arguments out of bodies, and refuses too many.
func TestBodyArgs(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"lines":     {"one\ntwo\n\n  three  ", "[one two three] <nil>"},
		"none":      {"", `[] storage: argument "ipfs-path" is required`},
		"too many":  {strings.Repeat("x\n", maxBodyArgs+1), "[] storage: too many arguments in the body: at most 4096"},
		"too long":  {strings.Repeat("x", 100_000), "[] storage: the arguments in the body can't be read: bufio.Scanner: token too long"},
		"too large": {strings.Repeat(strings.Repeat("x", 999)+"\n", 2000), "[] storage: the arguments in the body can't be read: unexpected EOF"},
	} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, _ := w.CreateFormFile("file", "args")
		_, _ = io.WriteString(part, c.text)
		_ = w.Close()
		req := httptest.NewRequest(http.MethodPost, "/", &b)
		req.Header.Set("Content-Type", w.FormDataContentType())
		one := &call{req: req, command: gateway().commands["cat"]}
		err := readArgs(t.Context(), one)
		if got := fmt.Sprint(one.args, " ", err); got != c.want {
			t.Errorf("%s: %.200s, want %s", name, got, c.want)
		}
	}
}

// TestLongMessages: an error that repeats what the client sent doesn't send all of it back.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	for _, code := range []nodegate.Code{nodegate.InvalidInput, nodegate.ExecutionFailed} {
		w := httptest.NewRecorder()
		gateway().refuse(w, &nodegate.Error{Op: "test", Code: code, Msg: "begin " + long + " end"})
		body := w.Body.String()
		if len(body) > maxMessage+100 || !strings.Contains(body, "begin ü") || !strings.Contains(body, "ü end") || strings.Contains(body, "\ufffd") {
			t.Errorf("%v: %d bytes, %.20q...", code, len(body), body)
		}
	}
}
