package auth

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

func randomDigits(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// TestGarbage costs no look at the store.
func TestGarbage(t *testing.T) {
	g := newGatehouse(t, func(c *Config) { c.Follow = never })
	k := g.key(t, nodegate.KeySettings{})
	g.enter(t, k.Value, "")
	before := g.store.lookUps.Load() + g.store.reads.Load()
	r := rand.New(rand.NewPCG(1, 2))
	_, err := g.ask("", "a secret")
	refused(t, err, nodegate.KeyRequired)
	for _, bad := range []string{" ", k.Value[:31], k.Value + "0", strings.ToUpper(k.Value), " " + k.Value, k.Value + "\x00", strings.Repeat("a", 1<<16), "ключ"} {
		_, err := g.ask(bad, "")
		refused(t, err, nodegate.KeyInvalid)
	}
	for range 50_000 {
		key := randomDigits(r, 32)
		for credential.WellFormed(key) { // one in 65,536 is
			key = randomDigits(r, 32)
		}
		_, err := g.ask(key, "")
		refused(t, err, nodegate.KeyInvalid)
	}
	if n := g.store.lookUps.Load() + g.store.reads.Load() - before; n != 0 || g.LookUps() != 1 {
		t.Errorf("the store was asked %d times", n)
	}
}

// TestGuesses: a well-formed key that nobody has is looked up once.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatehouse(t, func(c *Config) { c.Follow, c.Guesses = never, 1_000_000 })
		const keys = 2000
		for i := range keys {
			if i%100 == 0 {
				time.Sleep(time.Second) // a new allowance: it is not what bounds them here
			}
			guess := credential.NewKey()
			for range 2 {
				_, err := g.ask(guess, "")
				refused(t, err, nodegate.KeyInvalid)
			}
		}
		if n := g.store.lookUps.Load(); n != keys || g.store.reads.Load() != 0 {
			t.Errorf("%d look-ups of %d keys, %d other reads", n, keys, g.store.reads.Load())
		}
	})
}

// TestGuessesASecond are bounded for each address and for all together, and a known
// key doesn't feel it.
func TestGuessesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatehouse(t, func(c *Config) { c.Follow = never })
		k := g.key(t, nodegate.KeySettings{})
		g.enter(t, k.Value, "")
		guess := func(from netip.Addr, n int) int64 {
			before := g.store.lookUps.Load()
			for range n {
				_, err := g.Authenticate(t.Context(), nodegate.Credentials{Key: credential.NewKey(), From: from})
				refused(t, err, nodegate.KeyInvalid)
			}
			return g.store.lookUps.Load() - before
		}
		time.Sleep(time.Second)
		if n := guess(from, 2000); n != 100 {
			t.Errorf("%d look-ups of one address, want 100", n)
		}
		other := netip.MustParseAddr("2001:db8::1")
		if n := guess(other, 5); n != 5 {
			t.Errorf("%d look-ups of another address, want 5", n)
		}
		time.Sleep(time.Second)
		total := int64(0)
		for i := range 3000 {
			total += guess(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1)
		}
		if total != allGuesses {
			t.Errorf("%d look-ups of all, want %d", total, allGuesses)
		}
		g.enter(t, k.Value, "")
		if len(g.guesses.counts) > guessers {
			t.Errorf("%d addresses are held", len(g.guesses.counts))
		}
		time.Sleep(time.Second)
		if n := guess(from, 3); n != 3 {
			t.Errorf("%d look-ups in the next second, want 3", n)
		}
	})
}

// TestUnknownIsForgotten: a key that was offered before it was made works as soon as
// the door has heard of it.
func TestUnknownIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatehouse(t, nil)
		value := credential.NewKey()
		_, err := g.ask(value, "")
		refused(t, err, nodegate.KeyInvalid)
		k := &nodegate.Key{ID: "k-planned", AccountID: g.owner.ID, Values: []nodegate.KeyValue{{Digest: g.cfg.Vault.KeyDigest(value), Prefix: value[:4]}}}
		if err := g.store.Save(t.Context(), &nodegate.Change{Key: k, Audit: nodegate.AuditEntry{At: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if grant := g.enter(t, value, ""); grant.KeyID != k.ID {
			t.Errorf("the grant is %+v", grant)
		}
	})
}

// TestTiming is a t-test after dudect: keys that share 31 digits with a good one
// take the same time as random ones.
func TestTiming(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("it measures for seconds")
	}
	g := newGatehouse(t, func(c *Config) { c.Follow = never })
	good := fill(t, g.Authenticator, 1000, 10_000)
	r := rand.New(rand.NewPCG(3, 4))
	const runs, bound = 3, 4.5
	beyond := 0
	for range runs {
		score := timingScore(t, g.Authenticator, good, r)
		t.Logf("t = %.2f", score)
		if math.Abs(score) > bound {
			beyond++
		}
	}
	if beyond == runs {
		t.Errorf("|t| is above %v in all of %d runs", bound, runs)
	}
}

// near changes one digit of a good key.
func near(r *rand.Rand, good string) string {
	for {
		b := []byte(good)
		i := r.IntN(len(b))
		b[i] = "0123456789abcdef"[r.IntN(16)]
		if key := string(b); key != good && !credential.WellFormed(key) {
			return key
		}
	}
}

func timingScore(t *testing.T, d *Authenticator, good []string, r *rand.Rand) float64 {
	t.Helper()
	const each = 30_000
	type sample struct {
		class int
		key   string
	}
	var samples []sample
	for i := range each {
		random := randomDigits(r, 32)
		for credential.WellFormed(random) {
			random = randomDigits(r, 32)
		}
		samples = append(samples, sample{0, near(r, good[i%len(good)])}, sample{1, random})
	}
	r.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
	var took [2][]float64
	for _, s := range samples {
		start := time.Now()
		_, err := d.Authenticate(t.Context(), nodegate.Credentials{Key: s.key})
		took[s.class] = append(took[s.class], float64(time.Since(start)))
		if err == nil {
			t.Fatal("a wrong key is let in")
		}
	}
	return welch(took[0], took[1])
}

// welch compares two means after the slowest tenth of all, which is the machine's
// noise, was cut off.
func welch(a, b []float64) float64 {
	all := slices.Sorted(slices.Values(append(slices.Clone(a), b...)))
	cut := all[len(all)*9/10]
	moments := func(list []float64) (mean, variance, n float64) {
		for _, x := range list {
			if x <= cut {
				n++
				delta := x - mean
				mean += delta / n
				variance += delta * (x - mean)
			}
		}
		return mean, variance / (n - 1), n
	}
	meanA, varA, nA := moments(a)
	meanB, varB, nB := moments(b)
	return (meanA - meanB) / math.Sqrt(varA/nA+varB/nB)
}

// TestWelch finds a difference where there is one.
func TestWelch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(mean float64) (list []float64) {
		for range 10_000 {
			list = append(list, mean+r.NormFloat64()*50)
		}
		return list
	}
	if same := welch(draw(500), draw(500)); math.Abs(same) > 4.5 {
		t.Errorf("t = %.1f for the same", same)
	}
	if slower := welch(draw(510), draw(500)); slower < 4.5 {
		t.Errorf("t = %.1f for 2 %% more", slower)
	}
}
