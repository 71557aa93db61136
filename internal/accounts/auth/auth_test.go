package auth

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

// TestLoadedKey is let in without a look at the store.
func TestLoadedKey(t *testing.T) {
	g := newFixture(t, func(c *Config) { c.Follow = never })
	k, gone := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{})
	g.revoke(t, gone.Key.ID)
	g.open(t, g.Authenticator.cfg)
	grant := g.enter(t, k.Value, "")
	if grant.KeyID != k.Key.ID || grant.AccountID != g.owner.ID || grant != g.enter(t, k.Value, k.Secret) || ended(grant) {
		t.Errorf("the grant is %+v", grant)
	}
	if got := grant.Policy(); got.Plan.Name != "free" || got.Card != nil || !reflect.DeepEqual(got.Settings, nodegate.KeySettings{}) {
		t.Errorf("the policy is %+v", got)
	}
	if n := g.store.lookUps.Load() + g.store.reads.Load(); n != 0 || g.Keys() != 1 {
		t.Errorf("the store was asked %d times, %d keys", n, g.Keys())
	}
	_, err := g.ask(gone.Value, "")
	refused(t, err, nodegate.KeyInvalid)
}

// TestMoreThanAPage is loaded whole.
func TestMoreThanAPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it saves a thousand keys")
	}
	g := newFixture(t, func(c *Config) { c.Follow = never })
	var last *account.IssuedKey
	for range page + 1 {
		last = g.key(t, nodegate.KeySettings{})
	}
	g.open(t, g.Authenticator.cfg)
	if g.enter(t, last.Value, ""); g.Keys() != page+1 || g.store.lookUps.Load() != 0 {
		t.Errorf("%d keys, %d look-ups", g.Keys(), g.store.lookUps.Load())
	}
}

// TestKeyOfAnotherProcess works at once by a look-up, and without one after the
// next reading of the change sequence.
func TestKeyOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		for range 3 {
			g.enter(t, k.Value, "")
		}
		if n := g.LookUps(); n != 1 || g.store.lookUps.Load() != 1 {
			t.Errorf("%d look-ups, want 1", n)
		}
		followed := g.key(t, nodegate.KeySettings{})
		time.Sleep(time.Second + 1)
		synctest.Wait()
		if g.enter(t, followed.Value, ""); g.LookUps() != 1 {
			t.Errorf("%d look-ups, want 1", g.LookUps())
		}
	})
}

// TestFirstBurst: many requests with a new key at once are one look-up, and none
// of them is taken for a guess.
func TestFirstBurst(t *testing.T) {
	g := newFixture(t, func(c *Config) { c.Follow, c.Guesses = never, 2 })
	k := g.key(t, nodegate.KeySettings{})
	hold := func(*nodegate.Key) { time.Sleep(20 * time.Millisecond) }
	g.store.afterKey.Store(&hold)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := g.ask(k.Value, ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := g.store.lookUps.Load(); n != 1 {
		t.Errorf("%d look-ups, want 1", n)
	}
}

// TestClientLeaves: the one who asked first goes away, the others get their answer.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, func(c *Config) { c.Follow = never })
		k := g.key(t, nodegate.KeySettings{})
		g.store.slow.Store(int64(time.Second))
		results := make(chan error, 2)
		ctx, leave := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() {
				_, err := g.Authenticate(ctx, nodegate.Credentials{Key: k.Value})
				results <- err
			}()
			synctest.Wait()
		}
		leave()
		if one, two := <-results, <-results; one != nil && two != nil {
			t.Errorf("got %v and %v", one, two)
		}
		if g.enter(t, k.Value, ""); g.LookUps() != 1 {
			t.Errorf("%d look-ups", g.LookUps())
		}
	})
}

func TestRevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k, other := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{})
		grant, stays := g.enter(t, k.Value, ""), g.enter(t, other.Value, "")
		waiting := grant.Ended()
		g.revoke(t, k.Key.ID)
		start := time.Now()
		<-waiting
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v, longer than the follow interval", took)
		}
		synctest.Wait()
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		if !ended(grant) || ended(stays) {
			t.Error("the wrong grant ended")
		}
		g.enter(t, other.Value, "")
		before := g.LookUps()
		for range 10 {
			_, _ = g.ask(k.Value, "")
		}
		if g.LookUps() != before {
			t.Errorf("a revoked key is looked up again and again")
		}
	})
}

// TestPolicyFollows: settings, plan and card reach the grants that are out.
func TestPolicyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k, plain := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{})
		grant, other := g.enter(t, k.Value, ""), g.enter(t, plain.Value, "")
		check := func(what string, ok func(set, plain *nodegate.Policy) bool) {
			t.Helper()
			g.settle()
			if !ok(grant.Policy(), other.Policy()) || grant != g.enter(t, k.Value, k.Secret) || ended(grant) {
				t.Errorf("%s: the policies are %+v and %+v", what, grant.Policy(), other.Policy())
			}
		}
		set := func(change func(*nodegate.KeySettings)) {
			if err := g.desk.UpdateKey(t.Context(), actor(), g.owner.ID, k.Key.ID, func(_ *string, s *nodegate.KeySettings) { change(s) }); err != nil {
				t.Fatal(err)
			}
		}
		set(func(s *nodegate.KeySettings) { s.Methods, s.SecretRequired = []string{"eth_call"}, true })
		check("settings", func(p, o *nodegate.Policy) bool {
			return p.Settings.SecretRequired && !p.Settings.AllowsMethod("eth_chainId") && o.Settings.AllowsMethod("eth_chainId")
		})
		if err := g.desk.SetPlan(t.Context(), actor(), g.owner.ID, "unlimited"); err != nil {
			t.Fatal(err)
		}
		check("plan", func(p, o *nodegate.Policy) bool {
			return p.Plan.Name == "unlimited" && o.Plan.Name == "unlimited" && p.Settings.SecretRequired
		})
		card := nodegate.CardEntry{AccountID: g.owner.ID, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year(), CVC: "123"}
		if _, err := g.desk.PutCard(t.Context(), actor(), card); err != nil {
			t.Fatal(err)
		}
		check("card", func(p, o *nodegate.Policy) bool { return p.Card.Valid(time.Now()) && o.Card.Valid(time.Now()) })
		if err := g.desk.RemoveCard(t.Context(), actor(), g.owner.ID); err != nil {
			t.Fatal(err)
		}
		check("no card", func(p, o *nodegate.Policy) bool { return !p.Card.Valid(time.Now()) && !o.Card.Valid(time.Now()) })
		set(func(s *nodegate.KeySettings) { *s = nodegate.KeySettings{} })
		check("no settings", func(p, _ *nodegate.Policy) bool { return reflect.DeepEqual(p.Settings, nodegate.KeySettings{}) })
	})
}

// TestUnconfiguredPlan gets the default plan.
func TestUnconfiguredPlan(t *testing.T) {
	g := newFixture(t, func(c *Config) {
		c.Plans, c.DefaultPlan = map[string]nodegate.Plan{"small": {Name: "small", CreditsPerDay: 5}}, "small"
	})
	k := g.key(t, nodegate.KeySettings{})
	if got := g.enter(t, k.Value, "").Policy().Plan; got.Name != "small" {
		t.Errorf("the plan is %+v", got)
	}
}

// TestSetPlans: other plans hold at once for the grants that are out.
func TestSetPlans(t *testing.T) {
	g := newFixture(t, func(c *Config) { c.Follow = never })
	plain, set := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{Methods: []string{"eth_call"}})
	grants := []*nodegate.Grant{g.enter(t, plain.Value, ""), g.enter(t, set.Value, "")}
	for _, c := range []struct {
		plans    map[string]nodegate.Plan
		standard string
		want     int64
	}{
		{map[string]nodegate.Plan{"free": {Name: "free", CreditsPerDay: 7}}, "free", 7},
		{map[string]nodegate.Plan{"other": {Name: "other", CreditsPerDay: 8}}, "other", 8},
		{map[string]nodegate.Plan{"other": {Name: "other"}, "free": {Name: "free", CreditsPerDay: 9}}, "other", 9},
	} {
		g.SetPlans(c.plans, c.standard)
		for _, grant := range grants {
			if got := grant.Policy().Plan.CreditsPerDay; got != c.want || ended(grant) {
				t.Errorf("%d credits a day, want %d", got, c.want)
			}
		}
	}
	if !grants[0].Policy().Settings.AllowsMethod("eth_chainId") || grants[1].Policy().Settings.AllowsMethod("eth_chainId") {
		t.Error("the settings of the keys are lost")
	}
}

// TestRotation: both values during the overlap, then only the new one.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		old := g.enter(t, k.Value, "")
		rotated := g.rotate(t, k.Key.ID, account.Rotation{Value: true, Overlap: time.Minute})
		until := rotated.Key.Values[1].Expires
		g.settle()
		fresh := g.enter(t, rotated.Value, "")
		if g.enter(t, k.Value, "") != old || fresh == old || fresh.KeyID != old.KeyID {
			t.Error("the versions don't have a grant each")
		}
		time.Sleep(time.Until(until) - time.Microsecond)
		g.enter(t, k.Value, "")
		time.Sleep(time.Microsecond)
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		time.Sleep(time.Second) // the follow interval
		synctest.Wait()
		if !ended(old) || ended(fresh) || g.Keys() != 1 || len(g.expiring) != 0 {
			t.Errorf("the wrong grant ended; %d keys", g.Keys())
		}
		g.enter(t, rotated.Value, "")
		before := g.store.lookUps.Load()
		for range 50 {
			_, err := g.ask(k.Value, "")
			refused(t, err, nodegate.KeyInvalid)
		}
		if n := g.store.lookUps.Load() - before; n > 1 {
			t.Errorf("a value that has run out was looked up %d times", n)
		}
	})
}

// TestSecondRotation ends the oldest value at once.
func TestSecondRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k := g.key(t, nodegate.KeySettings{})
		old := g.enter(t, k.Value, "")
		r := account.Rotation{Value: true, Overlap: time.Hour}
		one, two := g.rotate(t, k.Key.ID, r), g.rotate(t, k.Key.ID, r)
		g.settle()
		_, err := g.ask(k.Value, "")
		refused(t, err, nodegate.KeyInvalid)
		g.enter(t, one.Value, "")
		g.enter(t, two.Value, "")
		g.revoke(t, k.Key.ID)
		g.settle()
		for _, value := range []string{k.Value, one.Value, two.Value} {
			_, err := g.ask(value, "")
			refused(t, err, nodegate.KeyInvalid)
		}
		if !ended(old) || g.Keys() != 0 || len(g.expiring) != 0 {
			t.Error("something lives on")
		}
	})
}

// TestSecretThatIsNotRequired must be right all the same when it is given.
func TestSecretThatIsNotRequired(t *testing.T) {
	g := newFixture(t, nil)
	k, other := g.key(t, nodegate.KeySettings{}), g.key(t, nodegate.KeySettings{})
	g.enter(t, k.Value, "")
	g.enter(t, k.Value, k.Secret)
	for _, wrong := range []string{other.Secret, k.Secret + "0", "x"} {
		_, err := g.ask(k.Value, wrong)
		refused(t, err, nodegate.SecretInvalid)
	}
}

func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFixture(t, nil)
		k, other := g.key(t, nodegate.KeySettings{SecretRequired: true}), g.key(t, nodegate.KeySettings{SecretRequired: true})
		check := func(secret string, ok bool) {
			t.Helper()
			_, err := g.ask(k.Value, secret)
			if ok && err != nil {
				t.Error(err)
			}
			if !ok {
				refused(t, err, nodegate.SecretInvalid)
			}
		}
		check(k.Secret, true)
		for _, wrong := range []string{"", credential.NewSecret(), other.Secret, k.Secret[:39], k.Secret + "0", k.Value} {
			check(wrong, false)
		}
		rotated := g.rotate(t, k.Key.ID, account.Rotation{Secret: true, Overlap: time.Minute})
		g.settle()
		check(k.Secret, true)
		check(rotated.Secret, true)
		check(credential.NewSecret(), false)
		time.Sleep(time.Until(rotated.Key.Secrets[1].Expires) - time.Microsecond)
		check(k.Secret, true)
		time.Sleep(time.Microsecond)
		check(k.Secret, false)
		check(rotated.Secret, true)
		if ended(g.enter(t, k.Value, rotated.Secret)) {
			t.Error("a rotated secret ended the key")
		}
	})
}
