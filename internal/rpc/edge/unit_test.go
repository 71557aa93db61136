package edge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// contractNumbers is the table of errors as the contract has it.
var contractNumbers = map[nodegate.Code]int{
	nodegate.Internal:            -32603,
	nodegate.ParseError:          -32700,
	nodegate.InvalidRequest:      -32600,
	nodegate.MethodNotFound:      -32601,
	nodegate.InvalidParams:       -32602,
	nodegate.Reverted:            3,
	nodegate.ExecutionFailed:     -32000,
	nodegate.NodeFault:           -32000,
	nodegate.OutsideHistory:      -32002,
	nodegate.Unverified:          -32002,
	nodegate.Timeout:             -32002,
	nodegate.ResponseTooLarge:    -32045,
	nodegate.NoNode:              -32603,
	nodegate.Busy:                -32603,
	nodegate.KeyRequired:         -32041,
	nodegate.KeyInvalid:          -32041,
	nodegate.SecretInvalid:       -32041,
	nodegate.Forbidden:           -32043,
	nodegate.UnknownNetwork:      -32001,
	nodegate.RateLimited:         -32005,
	nodegate.CreditsSpent:        -32042,
	nodegate.AccountBusy:         -32005,
	nodegate.HTTPMethod:          -32600,
	nodegate.TooLarge:            -32600,
	nodegate.MediaType:           -32600,
	nodegate.UpgradeRequired:     -32600,
	nodegate.InvalidInput:        -32602,
	nodegate.NotFound:            -32001,
	nodegate.Conflict:            -32000,
	nodegate.SignInFailed:        -32041,
	nodegate.CardDeclined:        -32042,
	nodegate.CardRequired:        -32042,
	nodegate.QuotaReached:        -32002,
	nodegate.InsufficientStorage: -32000,
	nodegate.Damaged:             -32000,
	nodegate.Mismatch:            -32000,
	nodegate.BadConfig:           -32603,
}

func TestEveryCodeHasANumber(t *testing.T) {
	for _, code := range nodegate.Codes() {
		if _, ok := numbers[code]; !ok {
			t.Errorf("%v has no row", code)
		}
		if want, ok := contractNumbers[code]; !ok || number(&nodegate.Error{Code: code}) != want {
			t.Errorf("%v is %d, want %d (in the contract: %t)", code, number(&nodegate.Error{Code: code}), want, ok)
		}
	}
	if len(numbers) != len(nodegate.Codes()) {
		t.Errorf("%d rows for %d codes", len(numbers), len(nodegate.Codes()))
	}
	if got := number(&nodegate.Error{Code: nodegate.NodeFault, Number: -38026}); got != -38026 {
		t.Errorf("a node's own code is %d", got)
	}
	if got := number(&nodegate.Error{Code: nodegate.InvalidParams, Number: 7}); got != -32602 {
		t.Errorf("a number beside another code is %d", got)
	}
	if got := number(&nodegate.Error{Code: nodegate.Code(250)}); got != -32603 {
		t.Errorf("a code from nowhere is %d", got)
	}
}

func TestParseRoute(t *testing.T) {
	for path, want := range map[string]route{
		"/v3":               {},
		"/v3/":              {},
		"/v3/key":           {key: "key"},
		"/v3/key/":          {key: "key"},
		"/ws/v3/key":        {key: "key", socket: true},
		"/ws/v3":            {socket: true},
		"/net/v3/key":       {network: "net", key: "key"},
		"/net/v3":           {network: "net"},
		"/net/ws/v3/key":    {network: "net", key: "key", socket: true},
		"/net/v3/a/b":       {network: "net", key: "a/b"},
		"/net/v3/v3":        {network: "net", key: "v3"},
		"/v3/v3/key":        {key: "v3/key"},
		"/v3/../net/v3/key": {key: "../net/v3/key"},
	} {
		if got, ok := parseRoute(path); !ok || got != want {
			t.Errorf("%s is %+v (%t), want %+v", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "/", "v3/key", "/v4/key", "/net", "/net/", "/net/key", "/ws", "/ws/", "/ws/key", "/ws/ws/v3/key", "/net/ws/ws/v3/key", "/a/b/v3/key", "/V3/key", "/readyz", "*"} {
		if got, ok := parseRoute(path); ok {
			t.Errorf("%q is %+v, want none", path, got)
		}
	}
}

// TestParseRouteGivesBack puts a route together and takes it apart again.
func TestParseRouteGivesBack(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	word := func(n int) string {
		var b strings.Builder
		for range 1 + rand.IntN(n) {
			b.WriteByte(letters[rand.IntN(len(letters))])
		}
		return b.String()
	}
	for range 2000 {
		want := route{key: word(40), socket: rand.IntN(2) == 0}
		path := "/v3/" + want.key
		if want.socket {
			path = "/ws" + path
		}
		if name := word(32); rand.IntN(2) == 0 && name != "v3" && name != "ws" {
			want.network, path = name, "/"+name+path
		}
		if got, ok := parseRoute(path); !ok || got != want {
			t.Fatalf("%s is %+v (%t), want %+v", path, got, ok, want)
		}
	}
}

// TestParseRouteAnything must not panic, and keeps the key a part of the path.
func TestParseRouteAnything(t *testing.T) {
	parts := []string{"/", "v3", "ws", "", "a", ".", "%2f", "//", "\x00", "ä"}
	for range 20_000 {
		path := ""
		for range rand.IntN(8) {
			path += parts[rand.IntN(len(parts))]
		}
		if r, ok := parseRoute(path); ok && (!strings.Contains(path, r.key) || !strings.Contains(path, "v3") || strings.Contains(r.network, "/")) {
			t.Fatalf("%q is %+v", path, r)
		}
	}
}

func TestJSONContent(t *testing.T) {
	for value, want := range map[string]bool{
		"application/json":                    true,
		"application/json; charset=utf-8":     true,
		"application/json;charset=\"utf-8\"":  true,
		"Application/JSON":                    true,
		"application/json-rpc":                true,
		"application/jsonrequest":             true,
		"application/json; charset=":          true, // a parameter nobody reads
		"":                                    false,
		"text/plain":                          false,
		"text/json":                           false,
		"application/x-www-form-urlencoded":   false,
		"multipart/form-data; boundary=x":     false,
		"application/jsonp":                   false,
		"application":                         false,
		"application/json/x":                  false,
		"text/plain; x=application/json":      false,
		"text/plain, application/json":        false,
		"application/json, text/plain":        false,
		"application/vnd.api+json":            false,
		";application/json":                   false,
		"application/json\x00":                false,
		strings.Repeat("application/json", 9): false,
	} {
		if got := jsonContent(value); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
}

func TestFirstByte(t *testing.T) {
	for text, want := range map[string]byte{"": 0, " \t\r\n": 0, " [": '[', "{": '{', "\v[": '\v', "\xef\xbb\xbf[": 0xef} {
		if got := firstByte([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFree: a full disk and a server that is busy are not the caller's to pay for; what
// the caller did wrong is.
func TestFree(t *testing.T) {
	for code, want := range map[nodegate.Code]bool{
		nodegate.Internal: true, nodegate.NoNode: true, nodegate.Busy: true, nodegate.InsufficientStorage: true,
		nodegate.RateLimited: true, nodegate.CreditsSpent: true, nodegate.AccountBusy: true,
		nodegate.Reverted: false, nodegate.InvalidParams: false, nodegate.Timeout: false, nodegate.MethodNotFound: false,
		nodegate.Forbidden: false, nodegate.TooLarge: false, nodegate.ResponseTooLarge: false,
	} {
		if free(code) != want {
			t.Errorf("%v is free: %t", code, !want)
		}
	}
}
