package dashboard

import (
	"strings"
	"testing"
	"time"
)

// A link must not lead to another site after the sign-in.
func TestLocalPath(t *testing.T) {
	for given, want := range map[string]string{
		"/keys/k-1?tab=viem": "/keys/k-1?tab=viem", "/": "/", "": "/", "keys": "/",
		"//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "/\t/evil.example": "/",
		"javascript:alert(1)": "/", "/a\r\nSet-Cookie: x": "/", "///evil.example": "/",
	} {
		if got := localPath(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	f.Add("//evil.example")
	f.Fuzz(func(t *testing.T, s string) {
		got := localPath(s)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t") {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}

func TestFileName(t *testing.T) {
	for given, want := range map[string]string{
		"report.pdf": "report.pdf", "../../etc/passwd": "-..-etc-passwd", `a"b\c`: "a-b-c", "": "bafy", "...": "bafy",
		"a\r\nb": "a--b", "тест": "тест", strings.Repeat("é", 150): strings.Repeat("é", 100),
	} {
		if got := fileName(given, "bafy"); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
	if got := fileName("", "<>/"); got != "file" {
		t.Errorf("nothing becomes %q", got)
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(-1234567), "-1,234,567"},
		{byteSize(0), "0 B"}, {byteSize(1023), "1023 B"}, {byteSize(1536), "1.5 KiB"}, {byteSize(5 << 30), "5.0 GiB"}, {byteSize(1<<63 - 1), "8.0 EiB"},
		{millis(420 * time.Microsecond), "0.42 ms"}, {millis(12 * time.Millisecond), "12 ms"},
		{when(time.Time{}), "never"}, {ago(time.Now().Add(-90 * time.Second)), "1 min ago"}, {ago(time.Now().Add(-50 * time.Hour)), "2 days ago"},
		{sentence("no such key"), "No such key."}, {sentence(""), ""}, {sentence("Sure?"), "Sure?"},
		{nodeOf(`total;dur=1.000, node;dur=0.900;desc="geth-1", cache;desc=miss`), "geth-1"}, {nodeOf("total;dur=1.000"), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
