package jsonrpc

import (
	"os"
	"strings"
	"testing"
)

// vectors reads testdata/smuggling.txt: the bodies under each verdict.
func vectors(t testing.TB) (refuse, accept []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/smuggling.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		verdict, body, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verdict {
		case "refuse":
			refuse = append(refuse, body)
		case "accept":
			accept = append(accept, body)
		case "", "#":
		default:
			t.Fatalf("no such verdict: %s", line)
		}
	}
	return refuse, accept
}

func TestSmuggling(t *testing.T) {
	refuse, accept := vectors(t)
	if len(refuse) < 60 {
		t.Errorf("only %d vectors", len(refuse))
	}
	for _, body := range refuse {
		scanBoth(t, body, "invalid request #null")
	}
	for _, body := range accept {
		scanBoth(t, body, "eth_call #1")
	}
}

// scanBoth scans body on its own and in the middle of a batch.
func scanBoth(t *testing.T, body, want string) {
	t.Helper()
	var b Body
	for _, text := range []string{body, "[" + smallCall + "," + body + "," + smallCall + "]"} {
		if fault := b.Scan([]byte(text), 3); fault != nil {
			t.Errorf("%s: fault %v", text, fault)
			continue
		}
		r := b.Requests[len(b.Requests)/2]
		got := string(r.Method) + " #" + string(r.ID)
		if r.Err != nil {
			got = r.Err.Message + " #" + string(r.ID)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
