package auth

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// fill puts keys into an authenticator as loading does, and returns their values.
func fill(t testing.TB, d *Authenticator, accounts, keys int) []string {
	t.Helper()
	values := make([]string, keys)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range values {
		a := d.putAccount(&nodegate.Account{ID: fmt.Sprintf("a-%020d", i%accounts), Email: fmt.Sprintf("user%d@example.com", i), Plan: "free", Version: 1,
			Card: &nodegate.Card{Brand: "visa", LastFour: "4242", ExpMonth: 1, ExpYear: 2040, Processor: "test", Reference: fmt.Sprintf("test_card_%026d", i)}})
		values[i] = credential.NewKey()
		k := &nodegate.Key{ID: credential.NewID("k"), AccountID: a.id, Name: fmt.Sprintf("a key with the number %d", i), Version: 1}
		k.Values = []nodegate.KeyValue{{Digest: d.cfg.Vault.KeyDigest(values[i]), Sealed: d.cfg.Vault.Seal(k.ID, values[i]), Prefix: values[i][:4]}}
		k.Secrets = []nodegate.KeySecret{{Digest: d.cfg.Vault.SecretDigest(k.ID, "secret")}}
		if i%10 == 0 {
			k.Settings = nodegate.KeySettings{SecretRequired: true, Methods: []string{fmt.Sprintf("eth_m%d", i)}, Origins: []string{fmt.Sprintf("https://h%d.example.com", i)}}
		}
		d.putKey(a, k)
	}
	return values
}

// TestNoAllocation of a known key, with a secret too.
func TestNoAllocation(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	g := newFixture(t, func(c *Config) { c.Follow = never })
	values := fill(t, g.Authenticator, 1000, 10_000)
	for name, c := range map[string]nodegate.Credentials{
		"key": {Key: values[1], From: from}, "key and secret": {Key: values[0], Secret: "secret", From: from},
		"garbage": {Key: "00000000000000000000000000000000", From: from}, "wrong secret": {Key: values[0], Secret: "wrong", From: from}, "none": {From: from},
	} {
		g.Authenticate(context.Background(), c)
		if n := testing.AllocsPerRun(1000, func() { g.Authenticate(context.Background(), c) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestMemory of many keys.
func TestMemory(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("it makes 100,000 keys")
	}
	g := newFixture(t, func(c *Config) { c.Follow = never })
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const accounts, keys, most = 10_000, 100_000, 150 << 20
	values := fill(t, g.Authenticator, accounts, keys)
	last := values[len(values)-1]
	values = nil
	used := heap() - before
	t.Logf("%d keys in %d accounts take %.1f MiB, %d bytes each", keys, accounts, float64(used)/(1<<20), used/keys)
	if g.enter(t, last, ""); used > most || g.Keys() != keys {
		t.Errorf("%d keys take %d bytes", g.Keys(), used)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	g := newFixture(b, func(c *Config) { c.Follow = never })
	values := fill(b, g.Authenticator, 10_000, 100_000)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := g.ask(values[i%len(values)], "secret"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for i := 0; p.Next(); i++ {
				if _, err := g.ask(values[i*7919%len(values)], "secret"); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
