package config

import (
	"errors"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// The rules of secrets and of addresses that hold them. What they say stands in
// errors too, as the value itself can't.
var (
	pepper          = rule{says: "32 to 1024 characters", check: checkPepper}
	postgresURL     = rule{says: "a URL like postgres://user:password@host:5432/database, with special characters escaped", check: checkPostgres}
	redisURL        = rule{says: "a URL like redis://:password@host:6379/0, rediss://host or unix:///path", check: checkRedis}
	stripeKey       = rule{says: "a key that starts with sk_ or rk_", check: matches(stripeSecretPattern)}
	stripePublicKey = rule{says: "a key that starts with pk_", check: checkStripePublic}
	smtpURL         = rule{says: "a URL like smtp://user:password@host:587 or smtps://host, with special characters escaped", check: checkSMTP}
	adminToken      = rule{says: "at least 16 visible characters", check: matches(adminTokenPattern)}
	mailAddress     = rule{says: "an address like nodegate@example.com", check: checkMailAddress}
	authValue       = rule{says: "1 to 512 visible characters and spaces", check: matches(authValuePattern)}
	hookURL         = rule{says: "an http or https URL", check: checkHook}
	bareAddress     = rule{says: "a bare address like ops@example.com", check: checkBareAddress}
	webURL          = rule{says: "an http or https URL", check: checkWebURL}
)

var (
	stripeSecretPattern = regexp.MustCompile(`^((sk|rk)_[A-Za-z0-9_]{4,250})?$`)
	stripePublicPattern = regexp.MustCompile(`^(pk_[A-Za-z0-9_]{4,250})?$`)
	adminTokenPattern   = regexp.MustCompile(`^([!-~]{16,512})?$`)
	authValuePattern    = regexp.MustCompile(`^([!-~]([ -~]{0,510}[!-~])?)?$`)
	databasePattern     = regexp.MustCompile(`^/?[0-9]{0,5}$`)
)

// errForm is all that is said of a secret; the caller adds what the rule says.
var errForm = errors.New("has the wrong form")

func matches(p *regexp.Regexp) func(string) error {
	return func(s string) error {
		if p.MatchString(s) {
			return nil
		}
		return errForm
	}
}

func checkPepper(s string) error {
	if len(s) < 32 || len(s) > 1024 {
		return errForm
	}
	return nil
}

// checkPostgres takes the URL apart by hand: net/url refuses the lists of hosts
// that Postgres allows.
func checkPostgres(s string) error {
	if s == "" {
		return nil
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" || strings.Contains(rest, "#") || spaced(s) {
		return errForm
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	q, err := url.ParseQuery(query)
	if err != nil || !unescapes(authority[:max(at, 0)]) || !unescapes(database) || strings.Contains(database, "@") {
		return errForm
	}
	hosts := authority[at+1:]
	if hosts == "" && q.Get("host") == "" {
		return errForm
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if !goodPort(host) {
			return errForm
		}
	}
	return nil
}

// goodPort checks the number behind a host, where there is one.
func goodPort(host string) bool {
	colon := strings.LastIndex(host, ":")
	if colon < 0 || strings.HasSuffix(host, "]") {
		return true
	}
	_, err := strconv.ParseUint(host[colon+1:], 10, 16)
	return err == nil
}

func unescapes(s string) bool {
	_, err := url.PathUnescape(s)
	return err == nil
}

func spaced(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func checkRedis(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" || u.Fragment != "" || spaced(s) {
		return errForm
	}
	switch {
	case u.Scheme == "unix" && u.Host == "" && len(u.Path) > 1:
		return nil
	case (u.Scheme == "redis" || u.Scheme == "rediss") && u.Hostname() != "" && databasePattern.MatchString(u.Path):
		return nil
	}
	return errForm
}

// checkSMTP wants a server, and user and password both or neither.
func checkSMTP(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || !goodPort(u.Host) || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || spaced(s) {
		return errForm
	}
	if password, has := u.User.Password(); u.User != nil && (u.User.Username() == "" || !has || password == "") {
		return errForm
	}
	return nil
}

func checkMailAddress(s string) error {
	if s == "" {
		return nil
	}
	if a, err := mail.ParseAddress(s); err != nil || strings.ContainsFunc(a.Address, unicode.IsSpace) {
		return errors.New("is not a mail address; write it like nodegate@example.com")
	}
	return nil
}

// checkStripePublic does not repeat the value: a secret key that was put here by
// mistake is still one.
func checkStripePublic(s string) error {
	if stripePublicPattern.MatchString(s) {
		return nil
	}
	if stripeSecretPattern.MatchString(s) {
		return errors.New("is a secret key; use the publishable one, which starts with pk_, and replace the secret key at Stripe if this file was shared")
	}
	return errors.New("is not a publishable key of Stripe; it starts with pk_")
}

func checkWebURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is not the address of an API; write it like https://api.example.com, without a query or a password")
	}
	return nil
}

// checkHook takes URLs with a path and a query, which may be all that keeps others from it.
func checkHook(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errForm
	}
	return nil
}

// checkBareAddress takes an address without a name.
func checkBareAddress(s string) error {
	if s == "" {
		return nil
	}
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
		return errors.New("is not a mail address; write it like ops@example.com, without a name")
	}
	return nil
}
