package auth

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/test/full"
)

// modelKey is what the rules say about one key.
type modelKey struct {
	id              string
	values, secrets map[string]time.Time // until when; zero is for ever
	value, secret   string               // the newest
	required        bool
	revoked         bool
}

const enters = nodegate.Code(255) // not a code: no error

func lives(until time.Time) bool { return until.IsZero() || time.Now().Before(until) }

func (m *modelKey) want(value, secret string) nodegate.Code {
	until, secretUntil := m.values[value], m.secrets[secret]
	_, known := m.secrets[secret]
	switch {
	case m.revoked || !lives(until):
		return nodegate.KeyInvalid
	case (m.required || secret != "") && (!known || !lives(secretUntil)): // a secret that is given must be right
		return nodegate.SecretInvalid
	default:
		return enters
	}
}

// rotated notes a new text: the last one lives for the overlap, those before end.
func rotated(all map[string]time.Time, newest *string, fresh string, overlap time.Duration) {
	for text := range all {
		all[text] = time.Unix(0, 0)
	}
	all[*newest] = time.Now().Add(overlap)
	all[fresh], *newest = time.Time{}, fresh
}

// step is one thing that an owner does, and how long it takes until the next.
type step struct {
	do            string
	value, secret bool
	overlap, wait time.Duration
}

func drawStep(rt *rapid.T) step {
	s := step{
		do:      rapid.SampledFrom([]string{"rotate", "rotate", "rotate", "secret", "revoke"}).Draw(rt, "do"),
		value:   rapid.Bool().Draw(rt, "value"),
		overlap: time.Duration(rapid.IntRange(0, 3).Draw(rt, "overlap")) * time.Second,
		wait:    time.Duration(rapid.IntRange(0, 3000).Draw(rt, "wait")) * time.Millisecond,
	}
	s.secret = !s.value || rapid.Bool().Draw(rt, "secret")
	return s
}

// TestModel does what owners do, in any order, and compares the authenticator with the rules
// for every value and secret that ever was.
func TestModel(t *testing.T) {
	full.Slow(t)
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 10).Draw(rt, "steps")
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = runModel(t, steps) })
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
	})
}

func runModel(t *testing.T, steps []step) (wrong []string) {
	g := newFixture(t, func(c *Config) { c.Guesses = 1_000_000 })
	made := g.key(t, nodegate.KeySettings{})
	m := &modelKey{
		id: made.Key.ID, value: made.Value, secret: made.Secret,
		values: map[string]time.Time{made.Value: {}}, secrets: map[string]time.Time{made.Secret: {}},
	}
	for _, s := range steps {
		m.do(t, g, s)
		g.settle()
		wrong = append(wrong, m.compare(g)...)
		time.Sleep(s.wait)
		wrong = append(wrong, m.compare(g)...)
	}
	return wrong
}

func (m *modelKey) do(t *testing.T, g *fixture, s step) {
	t.Helper()
	switch {
	case s.do == "revoke":
		g.revoke(t, m.id)
		m.revoked = true
	case m.revoked: // nothing else can be done with it
	case s.do == "secret":
		m.required = !m.required
		if err := g.desk.UpdateKey(t.Context(), actor(), g.owner.ID, m.id, func(_ *string, s *nodegate.KeySettings) { s.SecretRequired = m.required }); err != nil {
			t.Fatal(err)
		}
	default:
		issued := g.rotate(t, m.id, account.Rotation{Value: s.value, Secret: s.secret, Overlap: s.overlap})
		if s.value {
			rotated(m.values, &m.value, issued.Value, s.overlap)
		}
		if s.secret {
			rotated(m.secrets, &m.secret, issued.Secret, s.overlap)
		}
	}
}

func (m *modelKey) compare(g *fixture) (wrong []string) {
	for value := range m.values {
		for _, secret := range append(slices.Collect(maps.Keys(m.secrets)), "") {
			_, err := g.ask(value, secret)
			code := enters
			if err != nil {
				code = nodegate.AsError(err).Code
			}
			if wanted := m.want(value, secret); code != wanted {
				wrong = append(wrong, fmt.Sprintf("value %.4s, secret %.4s: %v, want %v", value, secret, err, wanted))
			}
		}
	}
	return wrong
}
