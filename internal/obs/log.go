package obs

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"
)

// NewLogger writes to w in one of two formats, text or json. Every string that
// passes through is cleaned of API keys first. Durations are text such as 1.2ms in both
// formats: JSON would have bare nanoseconds.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: writeAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

func writeAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(Redact(v))
	case error:
		a.Value = slog.StringValue(Redact(v.Error()))
	case time.Duration:
		a.Value = slog.StringValue(v.String())
	}
	return a
}

// keyLike is anything of a key's or a secret's form: 32 or 40 hex digits in a
// row. Hashes and addresses carry 0x and are left alone by the check below.
var keyLike = regexp.MustCompile(`(?i)(0x)?[0-9a-f]{32,}`)

// keyLengths are the digits of a key and of its secret.
const (
	keyDigits    = 32
	secretDigits = 40
	shownDigits  = 4
)

// Redact shortens everything that looks like an API key or a secret to its first
// four characters.
func Redact(s string) string {
	if len(s) < keyDigits {
		return s
	}
	return keyLike.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "0x") || (len(m) != keyDigits && len(m) != secretDigits) {
			return m
		}
		return m[:shownDigits] + "..."
	})
}
