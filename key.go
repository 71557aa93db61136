package nodegate

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Digest is an HMAC-SHA-256 under a key derived from the pepper.
type Digest [32]byte

// Key is one API key of an account, with its secret. Neither stands in it as text.
type Key struct {
	ID        string // names the key without being it
	AccountID string
	Name      string
	Values    []KeyValue  // newest first; older ones live until their overlap ends
	Secrets   []KeySecret // the same
	Settings  KeySettings
	Created   time.Time
	Revoked   time.Time // zero while it lives
	Version   int64     // as in Account
}

// KeyValue is one version of the 32 hex digits.
type KeyValue struct {
	Digest  Digest    // for the look-up
	Sealed  []byte    // the key itself under AES-256-GCM, for its owner's dashboard
	Prefix  string    // its first four digits, for people
	Expires time.Time // zero: never
}

// KeySecret is one version of a key's secret.
type KeySecret struct {
	Digest  Digest
	Expires time.Time // zero: never
}

// KeySettings are what the owner decides about a key. An empty list allows
// everything; the types of lists are joined by AND, their entries by OR.
type KeySettings struct {
	SecretRequired bool     `json:"secret_required,omitempty"`
	Services       []string `json:"services,omitempty"` // ServiceRPC and so on
	Networks       []string `json:"networks,omitempty"` // of JSON-RPC, by name
	Methods        []string `json:"methods,omitempty"`
	Addresses      []string `json:"addresses,omitempty"`   // contracts, 0x and 40 hex digits, lower case
	Origins        []string `json:"origins,omitempty"`     // https://app.example.com, https://*.example.com
	UserAgents     []string `json:"user_agents,omitempty"` // parts of the User-Agent header

	CreditsPerSecond int64 `json:"credits_per_second,omitempty"` // 0: the plan's
	CreditsPerDay    int64 `json:"credits_per_day,omitempty"`    // 0: the plan's

	// Expires is when the key stops working; zero is never.
	Expires time.Time `json:"expires,omitzero"`

	// KeepParams shows the parameters of the key's latest requests to its owner. They
	// are kept in memory, for an hour at most; without it, never.
	KeepParams bool `json:"keep_params,omitempty"`
	// KeepResponses does the same for the responses.
	KeepResponses bool `json:"keep_responses,omitempty"`
}

// The services that a key can be limited to.
const (
	ServiceRPC         = "json-rpc"
	ServiceStorage     = "storage"
	ServiceDevelopment = "development" // methods that change an embedded chain, such as evm_mine
)

// Bounds of a key's settings.
const (
	maxAllowed     = 30  // entries of one allowlist
	maxAllowedText = 256 // bytes of one entry
	maxKeyName     = 64
	maxSettings    = 8 << 10 // bytes of all settings together, as JSON
)

// Live tells whether the key was not revoked.
func (k *Key) Live() bool { return k.Revoked.IsZero() }

// Overdue tells whether the key has expired and is still to be revoked. Nobody is let in with it.
func (k *Key) Overdue(now time.Time) bool {
	return k.Live() && !k.Settings.Expires.IsZero() && !now.Before(k.Settings.Expires)
}

// Normalize puts the settings into the form that is stored and compared, and
// checks them.
//
// Returns InvalidInput, and says which entry and why.
func (s *KeySettings) Normalize() error {
	s.Expires = s.Expires.UTC().Truncate(time.Second)
	s.Addresses = each(s.Addresses, strings.ToLower)
	s.Origins = each(s.Origins, func(o string) string { return strings.TrimSuffix(strings.ToLower(o), "/") })
	for _, list := range []struct {
		name    string
		entries []string
		ok      func(string) bool
		want    string
	}{
		{"services", s.Services, isService, ServiceRPC + ", " + ServiceStorage + " or " + ServiceDevelopment},
		{"networks", s.Networks, isNetwork, "the name of a network like devnet"},
		{"methods", s.Methods, isMethod, "a method name like eth_call"},
		{"addresses", s.Addresses, isAddress, "0x and 40 hex digits"},
		{"origins", s.Origins, isOrigin, "a scheme and a host like https://app.example.com"},
		{"user agents", s.UserAgents, isAgent, "a part of a User-Agent header"},
	} {
		if len(list.entries) > maxAllowed {
			return invalid("too many " + list.name + ": at most 30")
		}
		for _, e := range list.entries {
			if len(e) > maxAllowedText || !list.ok(e) {
				return invalid("the " + list.name + " entry " + quoted(e) + " is not " + list.want)
			}
		}
	}
	if s.CreditsPerSecond < 0 || s.CreditsPerDay < 0 {
		return invalid("a limit of credits can't be negative")
	}
	return nil
}

// CheckSize refuses settings that take too much of the store and of memory. Settings from
// before the limit stay, and can be changed as long as they don't grow.
//
// Returns InvalidInput.
func (s *KeySettings) CheckSize(before *KeySettings) error {
	size := s.size()
	if size <= maxSettings || size <= before.size() {
		return nil
	}
	return invalid("the key's settings have " + strconv.Itoa(size) + " bytes in all, and at most 8,192 bytes (8 KiB) are allowed: shorten its lists")
}

func (s *KeySettings) size() int {
	text, _ := json.Marshal(s) // strings, numbers and lists of them can't fail
	return len(text)
}

// each leaves the caller's list alone.
func each(list []string, change func(string) string) []string {
	var changed []string
	for _, s := range list {
		changed = append(changed, change(s))
	}
	return changed
}

// CheckKeyName refuses names that would not print well.
//
// Returns InvalidInput.
func CheckKeyName(name string) error {
	if utf8.RuneCountInString(name) > maxKeyName || !printable(name) {
		return invalid("a key's name has at most 64 printable characters")
	}
	return nil
}

func isService(s string) bool {
	return s == ServiceRPC || s == ServiceStorage || s == ServiceDevelopment
}

func isNetwork(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func isMethod(s string) bool {
	space, name, found := strings.Cut(s, "_")
	return found && wordOf(space) && wordOf(name)
}

func wordOf(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != ""
}

func isAddress(s string) bool {
	if len(s) != 42 || s[:2] != "0x" {
		return false
	}
	return strings.Trim(s[2:], "0123456789abcdef") == ""
}

// isOrigin wants a scheme and a host and nothing else; a star may stand for the
// first labels of the host.
func isOrigin(s string) bool {
	plain := strings.Replace(s, "://*.", "://any.", 1)
	u, err := url.Parse(plain)
	return err == nil && u.Scheme != "" && plain == u.Scheme+"://"+u.Host && !strings.Contains(u.Host, "*") &&
		u.Hostname() != "" && !strings.HasSuffix(u.Hostname(), ".") && !strings.Contains(u.Host, "@")
}

func isAgent(s string) bool { return s != "" && printable(s) }

func printable(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f || c == '\uFFFD' || (c >= 0x80 && c < 0xa0) {
			return false
		}
	}
	return true
}

// AllowsService tells whether the key works for a service.
func (s *KeySettings) AllowsService(service string) bool {
	return len(s.Services) == 0 || slices.Contains(s.Services, service)
}

// AllowsNetwork tells whether the key works on a network.
func (s *KeySettings) AllowsNetwork(network string) bool {
	return len(s.Networks) == 0 || slices.Contains(s.Networks, network)
}

// AllowsMethod tells whether a method may be called.
func (s *KeySettings) AllowsMethod(method string) bool {
	return len(s.Methods) == 0 || slices.Contains(s.Methods, method)
}

// AllowsAddress tells whether a contract, in lower case, may be read or called.
func (s *KeySettings) AllowsAddress(address string) bool {
	return len(s.Addresses) == 0 || slices.Contains(s.Addresses, address)
}

// AllowsOrigin tells whether pages of an origin may use the key. With a list, a
// request without an origin is refused too.
func (s *KeySettings) AllowsOrigin(origin string) bool {
	if len(s.Origins) == 0 {
		return true
	}
	origin = strings.ToLower(origin)
	return slices.ContainsFunc(s.Origins, func(allowed string) bool {
		scheme, domain, wild := strings.Cut(allowed, "://*.")
		if !wild {
			return origin == allowed
		}
		rest, same := strings.CutPrefix(origin, scheme+"://")
		below, ends := strings.CutSuffix(rest, "."+domain)
		return same && ends && isHostName(below)
	})
}

// isHostName keeps what is no origin from passing for one that a wildcard stands for:
// a path, a user, two origins at once.
func isHostName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}

// AllowsUserAgent tells whether a client may use the key.
func (s *KeySettings) AllowsUserAgent(agent string) bool {
	return len(s.UserAgents) == 0 || slices.ContainsFunc(s.UserAgents, func(part string) bool { return strings.Contains(agent, part) })
}
