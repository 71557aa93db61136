package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
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
	g := newFixture(t, func(c *Config) { c.Follow = never })
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
		g := newFixture(t, func(c *Config) { c.Follow, c.Guesses = never, 1_000_000 })
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
		g := newFixture(t, func(c *Config) { c.Follow = never })
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
// the authenticator has heard of it.
func TestUnknownIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
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

// TestNearMiss: a key that differs from a good one in one digit is looked for as far
// from the good one as a random key is, and costs the same: one question to the store.
// So neither the time nor the work of a refusal says how close a guess is. All keys here
// pass the checksum; others are refused before anything is looked for.
func TestNearMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, func(c *Config) { c.Follow, c.Guesses = never, 1_000_000 })
		good := fill(t, g.Authenticator, 10, allGuesses)
		r := rand.New(rand.NewPCG(3, 4))
		equal := 0
		for i, value := range good {
			guess := near(r, value)
			equal += equalBits(g.placeOf(value), g.placeOf(guess))
			before := g.LookUps()
			_, err := g.ask(guess, "")
			refused(t, err, nodegate.KeyInvalid)
			if n := g.LookUps() - before; n != 1 {
				t.Fatalf("guess %d asked the store %d times", i, n)
			}
		}
		// Each bit is a coin toss. Six standard deviations are one failure in 500 million runs.
		all := float64(64 * len(good))
		if off := math.Abs(float64(equal) - all/2); off > 6*math.Sqrt(all)/2 {
			t.Errorf("%d of %.0f bits of the place are those of the good key", equal, all)
		}
	})
}

// placeOf is where the index looks for a key.
func (g *fixture) placeOf(key string) uint64 {
	digest := g.cfg.Vault.KeyDigest(key)
	return hashOf(&digest)
}

func equalBits(a, b uint64) int { return 64 - bits.OnesCount64(a^b) }

// near changes the last random digit of a good key, and the checksum with it.
func near(r *rand.Rand, good string) string {
	const last = 27
	for {
		head := good[:last] + randomDigits(r, 1)
		sum := sha256.Sum256([]byte(head))
		if key := head + hex.EncodeToString(sum[:2]); key != good {
			return key
		}
	}
}
