package config

import (
	"log/slog"
	"net/url"
)

// NodeURL is the address of a remote node. Its path and query often are a
// provider's key, so printing or logging it, also as a part of something larger,
// shows scheme and host; string(u) is the address itself.
type NodeURL string

// String is what may be shown.
func (u NodeURL) String() string {
	if u == "" || u.open() {
		return string(u)
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Host == "" {
		return "[redacted]"
	}
	return parsed.Scheme + "://" + parsed.Host + "/[redacted]"
}

// open tells whether there is nothing in the address to hide.
func (u NodeURL) open() bool {
	parsed, err := url.Parse(string(u))
	return err == nil && parsed.User == nil && parsed.Host != "" && parsed.RawQuery == "" && (parsed.Path == "" || parsed.Path == "/")
}

// GoString is what %#v prints.
func (u NodeURL) GoString() string { return `"` + u.String() + `"` }

// LogValue is what slog prints.
func (u NodeURL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText is what JSON prints.
func (u NodeURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
