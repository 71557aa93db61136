package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/spelling"
)

// rule says which texts are good values.
type rule struct {
	says  string // for the documentation
	check func(string) error
}

var (
	anyText     = rule{}
	notEmpty    = rule{check: checkNotEmpty}
	address     = rule{says: "host:port, port 0 picks a free one", check: checkAddress}
	networkName = rule{says: "`[a-z0-9-]{1,32}`, unique, not a reserved path", check: checkNetworkName}
	currency    = rule{says: "1 to 6 letters and digits", check: checkCurrency}
	explorerURL = rule{says: "an https URL, or an http one on localhost", check: checkExplorer}
	checkpoint  = rule{says: "`NUMBER:0xHASH`", check: checkCheckpoint}
	aliasName   = rule{says: "`[a-z0-9]{1,16}`, not an existing prefix", check: checkAlias}
)

var (
	networkNamePattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	currencyPattern    = regexp.MustCompile(`^[A-Za-z0-9]{1,6}$`)
	aliasPattern       = regexp.MustCompile(`^[a-z0-9]{1,16}$`)
)

// reservedNames are the first path segments that the service itself answers. A
// network is reached by its name as the first segment, so they would collide.
var reservedNames = []string{
	"v3", "ws", "api", "ipfs", "docs", "healthz", "readyz", "metrics",
	"login", "logout", "signup", "keys", "usage", "requests", "files",
	"billing", "operator", "static", "account", "try",
}

// windowMethods are the methods that a history window can bound.
var windowMethods = method.NamesOf(func(r *method.Row) bool { return r.Window })

func oneOf(names ...string) rule {
	return rule{says: list(names), check: func(s string) error {
		if slices.Contains(names, s) {
			return nil
		}
		return fmt.Errorf("%q is not known; use %s", s, list(names))
	}}
}

func checkNotEmpty(s string) error {
	if s == "" {
		return errors.New("is empty; give it a value or remove it")
	}
	return nil
}

func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not host:port; write it like 127.0.0.1:8545", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535; write it like 127.0.0.1:8545", s)
	}
	if strings.ContainsAny(host, "/@ \t") {
		return fmt.Errorf("%q is not host:port; leave out the scheme and the path", s)
	}
	return nil
}

func checkNetworkName(s string) error {
	if !networkNamePattern.MatchString(s) {
		return fmt.Errorf("%q is not a network name; use 1 to 32 of a-z, 0-9 and -", s)
	}
	if slices.Contains(reservedNames, s) {
		return fmt.Errorf("%q is a reserved path; choose another name", s)
	}
	return nil
}

// checkCurrency and checkExplorer hold to what wallets accept.
func checkCurrency(s string) error {
	if s != "" && !currencyPattern.MatchString(s) {
		return fmt.Errorf("%q is not the symbol of a currency; use 1 to 6 letters and digits, like ETH", s)
	}
	return nil
}

func checkExplorer(s string) error {
	if err := checkWebURL(s); err != nil || s == "" {
		return err
	}
	if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" {
		return fmt.Errorf("%q is not an https URL; wallets take http only on localhost", s)
	}
	return nil
}

func checkAlias(s string) error {
	if s == "" {
		return nil
	}
	if !aliasPattern.MatchString(s) {
		return fmt.Errorf("%q is not a method prefix; use 1 to 16 of a-z and 0-9", s)
	}
	if slices.Contains(method.Taken(), s) {
		return fmt.Errorf("%q is taken by methods of that prefix; choose another alias", s)
	}
	return nil
}

func checkNamespace(s string) error {
	if slices.Contains(method.Optional(), s) {
		return nil
	}
	if slices.Contains(method.Forbidden(), s) {
		return fmt.Errorf("%q can't be turned on: it would give callers control of the node; remove it", s)
	}
	if slices.Contains(method.AlwaysOn(), s) {
		return fmt.Errorf("%q is always on; remove it", s)
	}
	return fmt.Errorf("%q is not known; use %s", s, list(method.Optional()))
}

// checkProxy refuses host bits in a range: 10.0.0.1/8 is more often a typing
// error for one machine than a wish to trust the whole network.
func checkProxy(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf("%q is not an address or a range; write it like 10.0.0.5 or 10.0.0.0/8", s)
	}
	if p != p.Masked() {
		return fmt.Errorf("%q has bits beyond its mask; write %s for the range or %s for the one machine", s, p.Masked(), p.Addr())
	}
	return nil
}

// hostNamePattern is a host name in lower case, without a port.
var hostNamePattern = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$`)

func checkHostName(s string) error {
	if len(s) > 253 || !hostNamePattern.MatchString(s) {
		return fmt.Errorf("%q is not a host name; write it in lower case and without a port, like monitor.internal", s)
	}
	return nil
}

func checkWindowMethod(s string) error {
	if slices.Contains(windowMethods, s) {
		return nil
	}
	return fmt.Errorf("%q has no history window%s", s, suggest(s, windowMethods))
}

// list joins names as a sentence does: a, b or c.
func list(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// suggest ends a sentence about an unknown name with what was likely meant.
func suggest(name string, known []string) string {
	if best := spelling.Nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; known here: " + strings.Join(known, ", ")
}
