package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/nodegate/nodegate"
)

// settingsFlags are a key's settings. One that was not given changes nothing.
type settingsFlags struct {
	SecretRequired   *bool     `placeholder:"true|false" help:"Require the key's secret in every request."`
	Services         entryList `placeholder:"SERVICE,..." help:"The key's scopes: json-rpc, storage, development. An empty list allows all, here and below."`
	Networks         entryList `placeholder:"NETWORK,..." help:"The networks that the key works on."`
	Methods          entryList `placeholder:"METHOD,..." help:"The methods that may be called."`
	Addresses        entryList `placeholder:"ADDRESS,..." help:"The contracts that may be read and called."`
	Origins          entryList `placeholder:"ORIGIN,..." help:"The web pages that may use the key, like https://app.example.com or https://*.example.com."`
	UserAgents       entryList `placeholder:"PART,..." help:"Allowed clients: the User-Agent header must contain one of these texts. Write a comma inside a text as \\,."`
	CreditsPerSecond *int64    `placeholder:"N" help:"A limit below the plan's. 0 uses the plan's."`
	CreditsPerDay    *int64    `placeholder:"N" help:"A limit below the plan's. 0 uses the plan's."`
	Expires          expiry    `placeholder:"TIME" help:"When the key expires: never, a time like 2027-01-31T12:00:00Z, a day like 2027-01-31 (at its end, UTC), or a duration from now like 720h."`
	KeepParams       *bool     `placeholder:"true|false" help:"Keep the parameters of recent requests in memory for an hour, for the key's owner to see."`
	KeepResponses    *bool     `placeholder:"true|false" help:"Keep the responses of recent requests in the same way."`
}

// entryList is a list with commas between its entries. The flag may be repeated.
type entryList struct {
	given   bool
	entries []string
}

// Decode reads one use of the flag; see kong.MapperValue.
func (l *entryList) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("list", &text); err != nil {
		return err
	}
	l.given = true
	l.entries = append(l.entries, kong.SplitEscaped(text, ',')...)
	return nil
}

// expiry is when a key expires; zero is never.
type expiry struct {
	given bool
	at    time.Time
}

// Decode reads the flag; see kong.MapperValue.
func (e *expiry) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	var err error
	e.given = true
	e.at, err = expiryOf(text, time.Now())
	return err
}

// expiryOf reads when a key is to expire.
func expiryOf(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	if after, err := time.ParseDuration(text); err == nil && after > 0 {
		return now.Add(after), nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("expected never, a time like 2027-01-31T12:00:00Z, a day like 2027-01-31 or a duration like 720h, but got %q", text)
	}
	return at, nil
}

// set replaces a list, where the flag was given.
func (l *entryList) set(target *[]string) {
	if l.given {
		*target = slices.Clone(l.entries) // the settings are put into their form in place
	}
}

func (f *settingsFlags) given() bool {
	return f.SecretRequired != nil || f.CreditsPerSecond != nil || f.CreditsPerDay != nil || f.KeepParams != nil || f.KeepResponses != nil ||
		f.Expires.given || f.Services.given || f.Networks.given || f.Methods.given || f.Addresses.given || f.Origins.given || f.UserAgents.given
}

// apply puts what was given over the settings. It may be called several times.
func (f *settingsFlags) apply(s *nodegate.KeySettings) {
	if f.SecretRequired != nil {
		s.SecretRequired = *f.SecretRequired
	}
	f.Services.set(&s.Services)
	f.Networks.set(&s.Networks)
	f.Methods.set(&s.Methods)
	f.Addresses.set(&s.Addresses)
	f.Origins.set(&s.Origins)
	f.UserAgents.set(&s.UserAgents)
	if f.CreditsPerSecond != nil {
		s.CreditsPerSecond = *f.CreditsPerSecond
	}
	if f.CreditsPerDay != nil {
		s.CreditsPerDay = *f.CreditsPerDay
	}
	if f.Expires.given {
		s.Expires = f.Expires.at
	}
	if f.KeepParams != nil {
		s.KeepParams = *f.KeepParams
	}
	if f.KeepResponses != nil {
		s.KeepResponses = *f.KeepResponses
	}
}

// describeSettings names the settings that are not the usual ones, by their flags.
func describeSettings(s nodegate.KeySettings) string {
	var words []string
	if s.SecretRequired {
		words = append(words, "secret-required")
	}
	for _, list := range []struct {
		name    string
		entries []string
	}{{"services", s.Services}, {"networks", s.Networks}, {"methods", s.Methods}, {"addresses", s.Addresses}, {"origins", s.Origins}, {"user-agents", s.UserAgents}} {
		if len(list.entries) > 0 {
			words = append(words, list.name+"="+joined(list.entries))
		}
	}
	if s.CreditsPerSecond > 0 {
		words = append(words, fmt.Sprintf("credits-per-second=%d", s.CreditsPerSecond))
	}
	if s.CreditsPerDay > 0 {
		words = append(words, fmt.Sprintf("credits-per-day=%d", s.CreditsPerDay))
	}
	if !s.Expires.IsZero() {
		words = append(words, "expires="+s.Expires.Format(time.RFC3339))
	}
	if s.KeepParams {
		words = append(words, "keep-params")
	}
	if s.KeepResponses {
		words = append(words, "keep-responses")
	}
	return strings.Join(words, " ")
}

// joined quotes a list that would not read as one word.
func joined(entries []string) string {
	text := kong.JoinEscaped(entries, ',')
	if strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || r == '"' || unprintable(r) }) {
		return strconv.Quote(text)
	}
	return text
}
