package obs

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const someKey = "dec0de00dec0de00dec0de00dec06257"

func TestRedact(t *testing.T) {
	secret := strings.Repeat("ab", 20)
	hash := "0x" + strings.Repeat("cd", 32)
	for in, want := range map[string]string{
		"":                                     "",
		"/devnet/v3/" + someKey:                "/devnet/v3/dec0...",
		"/v3/" + strings.ToUpper(someKey):      "/v3/DEC0...",
		"user:" + secret + "@host":             "user:abab...@host",
		"block " + hash:                        "block " + hash,
		"address 0x" + strings.Repeat("1", 40): "address 0x" + strings.Repeat("1", 40),
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLoggerRedacts: neither a string nor an error that holds a key gets through.
func TestLoggerRedacts(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := NewLogger(&out, format, slog.LevelInfo)
		log.Info("request "+someKey, "path", "/v3/"+someKey, "err", errors.New("bad key "+someKey))
		if strings.Contains(out.String(), someKey) {
			t.Errorf("%s log holds the key: %s", format, out.String())
		}
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s log has more than one line: %q", format, out.String())
		}
	}
}

// TestLoggerDurations: a duration has its unit in both formats, in groups too.
func TestLoggerDurations(t *testing.T) {
	for format, want := range map[string][]string{"text": {"took=1.5ms", "node.waited=2s"}, "json": {`"took":"1.5ms"`, `"waited":"2s"`}} {
		var out bytes.Buffer
		NewLogger(&out, format, slog.LevelInfo).Info("request", "took", 1500*time.Microsecond, slog.Group("node", "waited", 2*time.Second))
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s log lacks %s: %s", format, w, out.String())
			}
		}
	}
}

func TestRequestIDs(t *testing.T) {
	ids, seen := NewRequestIDs(), map[string]bool{}
	for range 1000 {
		id := ids.New()
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
	}
	if a, b := NewRequestIDs(), NewRequestIDs(); a.prefix == b.prefix {
		t.Error("two starts share a prefix")
	}
}

// TestGivenRequestID: a client's ID is used if it is short and plain.
func TestGivenRequestID(t *testing.T) {
	ids := NewRequestIDs()
	for id, want := range map[string]bool{
		"order-17.3": true, "0x4bf92f3577b34da6a3ce929d0e0e4736": true, "Root=1-67891233:a/b+c_d": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\r\nSet-Cookie: b": false, "é": false, `a"b`: false, "a;b": false, "<a>": false, "a\x00": false,
	} {
		if got := ids.For([]string{id}); (got == id) != want || got == "" {
			t.Errorf("%q became %q", id, got)
		}
	}
	for _, given := range [][]string{nil, {"a", "b"}} {
		if got := ids.For(given); !strings.HasPrefix(got, ids.prefix) {
			t.Errorf("%q became %q", given, got)
		}
	}
}
