package account

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
)

func TestCreateKey(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "one@example.com")
	settings := nodegate.KeySettings{SecretRequired: true, Methods: []string{"eth_call"}, Addresses: []string{"0xABCDEF0000000000000000000000000000000001"},
		Origins: []string{"HTTPS://App.example.com/", "https://*.example.org"}, UserAgents: []string{"curl/"}, CreditsPerSecond: 500, CreditsPerDay: 3_000_000}
	made, err := d.CreateKey(t.Context(), actor(), a.ID, "shop", settings)
	if err != nil {
		t.Fatal(err)
	}
	if !credential.WellFormed(made.Value) || len(made.Secret) != 40 {
		t.Errorf("the texts are %q and %q", made.Value, made.Secret)
	}
	got, err := d.Key(t.Context(), a.ID, made.Key.ID)
	if err != nil {
		t.Fatal(err)
	}
	settings.Addresses = []string{"0xabcdef0000000000000000000000000000000001"}
	settings.Origins = []string{"https://app.example.com", "https://*.example.org"}
	if !reflect.DeepEqual(got.Settings, settings) || got.Name != "shop" || !got.Live() || !reflect.DeepEqual(got, made.Key) {
		t.Errorf("got %+v, want %+v", got, made.Key)
	}
	if len(got.Values) != 1 || got.Values[0].Digest != d.apiKeys.vault.KeyDigest(made.Value) || got.Values[0].Prefix != made.Value[:4] || len(got.Secrets) != 1 || got.Secrets[0].Digest != d.apiKeys.vault.SecretDigest(got.ID, made.Secret) {
		t.Errorf("the versions are %+v, %+v", got.Values, got.Secrets)
	}
	if text, err := d.Reveal(t.Context(), a.ID, got.ID); err != nil || text != made.Value {
		t.Errorf("reveals %q: %v", text, err)
	}
	_, err = d.CreateKey(t.Context(), actor(), "a-nobody", "shop", nodegate.KeySettings{})
	want(t, err, nodegate.NotFound, "")
}

func TestListKeys(t *testing.T) {
	d := newDesk(t)
	a, b := d.customer(t, "a@example.com"), d.customer(t, "b@example.com")
	first, second := d.key(t, a.ID).Key.ID, d.key(t, a.ID).Key.ID
	d.key(t, b.ID)
	if err := d.RevokeKey(t.Context(), actor(), a.ID, first); err != nil {
		t.Fatal(err)
	}
	keys, err := d.Keys(t.Context(), a.ID)
	if err != nil || len(keys) != 2 || keys[0].ID != first || keys[0].Live() || keys[1].ID != second || !keys[1].Live() {
		t.Errorf("got %+v, %v", keys, err)
	}
}

// TestKeySettings tries every list at its bound, and what must be refused.
func TestKeySettings(t *testing.T) {
	d := newDesk(t)
	free := d.customer(t, "free@example.com")
	many := func(n int, form string) []string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(form, i))
		}
		return list
	}
	type settings = nodegate.KeySettings
	for _, c := range []struct {
		name string
		key  string
		s    settings
		says string // "" is accepted
	}{
		{"30 methods", "", settings{Methods: many(30, "eth_m%d")}, ""},
		{"31 methods", "", settings{Methods: many(31, "eth_m%d")}, "too many methods: at most 30"},
		{"30 addresses", "", settings{Addresses: many(30, "0x%040x")}, ""},
		{"31 addresses", "", settings{Addresses: many(31, "0x%040x")}, "too many addresses"},
		{"30 origins", "", settings{Origins: many(30, "https://h%d.example.com")}, ""},
		{"31 origins", "", settings{Origins: many(31, "https://h%d.example.com")}, "too many origins"},
		{"30 agents", "", settings{UserAgents: many(30, "agent/%d")}, ""},
		{"31 agents", "", settings{UserAgents: many(31, "agent/%d")}, "too many user agents"},
		{"misspelt method", "", settings{Methods: []string{"eth_call", "eth_getCod"}}, "unknown method eth_getCod: did you mean eth_getCode?"},
		{"services", "", settings{Services: []string{"json-rpc", "storage", "development"}}, ""},
		{"unknown service", "", settings{Services: []string{"rpc"}}, `services entry "rpc" is not json-rpc, storage or development`},
		{"networks", "", settings{Networks: []string{"devnet", "l2-test"}}, ""},
		{"bad network", "", settings{Networks: []string{"Dev Net"}}, `networks entry "Dev Net"`},
		{"method without a space", "", settings{Methods: []string{"eth_call", "call"}}, `methods entry "call"`},
		{"empty method", "", settings{Methods: []string{""}}, `methods entry ""`},
		{"wildcard method", "", settings{Methods: []string{"eth_*"}}, `methods entry "eth_*"`},
		{"short address", "", settings{Addresses: []string{"0x12"}}, `addresses entry "0x12"`},
		{"address without 0x", "", settings{Addresses: []string{strings.Repeat("a", 42)}}, "addresses entry"},
		{"origin with a path", "", settings{Origins: []string{"https://a.example.com/x"}}, `origins entry "https://a.example.com/x"`},
		{"origin without a scheme", "", settings{Origins: []string{"a.example.com"}}, "origins entry"},
		{"origin with two stars", "", settings{Origins: []string{"https://*.*.example.com"}}, "origins entry"},
		{"origin with a user", "", settings{Origins: []string{"https://u@a.example.com"}}, "origins entry"},
		{"empty agent", "", settings{UserAgents: []string{""}}, "user agents entry"},
		{"agent with a line break", "", settings{UserAgents: []string{"a\r\nb"}}, `user agents entry "a\r\nb"`},
		{"agent of 257", "", settings{UserAgents: []string{strings.Repeat("x", 257)}}, "user agents entry"},
		{"second limit of the plan", "", settings{CreditsPerSecond: 500}, ""},
		{"second limit above", "", settings{CreditsPerSecond: 501}, "500 credits a second"},
		{"day limit above", "", settings{CreditsPerDay: 3_000_001}, "3000000 credits a day"},
		{"negative limit", "", settings{CreditsPerDay: -1}, "negative"},
		{"name of 64", strings.Repeat("x", 64), settings{}, ""},
		{"name of 65", strings.Repeat("x", 65), settings{}, "64 printable"},
		{"name with a line break", "a\nb", settings{}, "64 printable"},
		{"name that is not UTF-8", "a\xff", settings{}, "64 printable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, err := d.CreateKey(t.Context(), actor(), free.ID, c.key, c.s)
			k := d.key(t, free.ID).Key
			changed := d.UpdateKey(t.Context(), actor(), free.ID, k.ID, func(name *string, s *settings) { *name, *s = c.key, c.s })
			got, readErr := d.Key(t.Context(), free.ID, k.ID)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if c.says != "" {
				want(t, err, nodegate.InvalidInput, c.says)
				want(t, changed, nodegate.InvalidInput, c.says)
				if made != nil || !reflect.DeepEqual(got, k) {
					t.Error("a key came of it, or was changed")
				}
				return
			}
			if err != nil || changed != nil || got.Name != c.key || !reflect.DeepEqual(got.Settings, made.Key.Settings) {
				t.Errorf("got %v, %v, %+v", err, changed, got)
			}
		})
	}
}

// TestLimitsOfOtherPlans: without a limit in the plan any is lower; a plan that is
// not configured any more counts as the default one.
func TestLimitsOfOtherPlans(t *testing.T) {
	d := newDesk(t)
	a, err := d.Create(t.Context(), actor(), NewAccount{Email: "u@example.com", Plan: "unlimited"})
	if err != nil {
		t.Fatal(err)
	}
	high := nodegate.KeySettings{CreditsPerSecond: 1 << 40, CreditsPerDay: 1 << 50}
	if _, err := d.CreateKey(t.Context(), actor(), a.ID, "", high); err != nil {
		t.Error(err)
	}
	delete(d.now.Load().byName, "unlimited")
	_, err = d.CreateKey(t.Context(), actor(), a.ID, "", high)
	want(t, err, nodegate.InvalidInput, "500 credits a second")
}

func TestRevoke(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "one@example.com")
	k := d.key(t, a.ID).Key
	before := d.auditCount(t)
	var first *nodegate.Key
	for range 3 {
		if err := d.RevokeKey(t.Context(), actor(), a.ID, k.ID); err != nil {
			t.Fatal(err)
		}
		got, err := d.Key(t.Context(), a.ID, k.ID)
		if err != nil || got.Live() || got.Values[0].Sealed != nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		if first == nil {
			first = got
		}
		if !reflect.DeepEqual(got, first) {
			t.Error("a second revocation changed it")
		}
	}
	if n := d.auditCount(t) - before; n != 1 {
		t.Errorf("%d audit entries, want 1", n)
	}
	_, err := d.Reveal(t.Context(), a.ID, k.ID)
	want(t, err, nodegate.NotFound, "no such API key")
	want(t, d.UpdateKey(t.Context(), actor(), a.ID, k.ID, func(*string, *nodegate.KeySettings) {}), nodegate.NotFound, "no such API key")
	_, err = d.RotateKey(t.Context(), actor(), a.ID, k.ID, Rotation{Value: true})
	want(t, err, nodegate.NotFound, "no such API key")
}

func TestRotate(t *testing.T) {
	for _, r := range []Rotation{
		{Value: true, Overlap: time.Hour}, {Secret: true, Overlap: time.Hour}, {Value: true, Secret: true, Overlap: time.Hour},
		{Value: true}, {Value: true, Secret: true, Overlap: maxOverlap},
	} {
		t.Run(fmt.Sprintf("%+v", r), func(t *testing.T) {
			d := newDesk(t)
			a := d.customer(t, "one@example.com")
			made := d.key(t, a.ID)
			begin := now()
			first, err := d.RotateKey(t.Context(), actor(), a.ID, made.Key.ID, r)
			if err != nil {
				t.Fatal(err)
			}
			end := now()
			second, err := d.RotateKey(t.Context(), actor(), a.ID, made.Key.ID, r)
			if err != nil {
				t.Fatal(err)
			}
			checkRotated(t, d, made, first, r, begin, end)
			got, err := d.Key(t.Context(), a.ID, made.Key.ID)
			if err != nil {
				t.Fatal(err)
			}
			checkVersions(t, d, got, r, made, first, second)
		})
	}
}

// checkRotated looks at the state between the two rotations.
func checkRotated(t *testing.T, d *desk, made, rotated *IssuedKey, r Rotation, begin, end time.Time) {
	t.Helper()
	if (rotated.Value != "") != r.Value || (rotated.Secret != "") != r.Secret || rotated.Value == made.Value || rotated.Secret == made.Secret {
		t.Errorf("issued %+v", rotated)
	}
	k := rotated.Key
	within := func(at time.Time) bool { return !at.Before(begin.Add(r.Overlap)) && !at.After(end.Add(r.Overlap)) }
	if r.Value && (len(k.Values) != 2 || !k.Values[0].Expires.IsZero() || !within(k.Values[1].Expires) || k.Values[1].Digest != d.apiKeys.vault.KeyDigest(made.Value)) {
		t.Errorf("the values are %+v", k.Values)
	}
	if r.Secret && (len(k.Secrets) != 2 || !k.Secrets[0].Expires.IsZero() || !within(k.Secrets[1].Expires) || k.Secrets[1].Digest != d.apiKeys.vault.SecretDigest(k.ID, made.Secret)) {
		t.Errorf("the secrets are %+v", k.Secrets)
	}
}

// checkVersions looks at the end: the last two of what was rotated, the first of
// what was not.
func checkVersions(t *testing.T, d *desk, k *nodegate.Key, r Rotation, made, first, second *IssuedKey) {
	t.Helper()
	values, secrets := []string{made.Value}, []string{made.Secret}
	if r.Value {
		values = []string{second.Value, first.Value}
	}
	if r.Secret {
		secrets = []string{second.Secret, first.Secret}
	}
	var wantValues, wantSecrets, gotValues, gotSecrets []nodegate.Digest
	for _, v := range values {
		wantValues = append(wantValues, d.apiKeys.vault.KeyDigest(v))
	}
	for _, s := range secrets {
		wantSecrets = append(wantSecrets, d.apiKeys.vault.SecretDigest(k.ID, s))
	}
	for _, v := range k.Values {
		gotValues = append(gotValues, v.Digest)
	}
	for _, s := range k.Secrets {
		gotSecrets = append(gotSecrets, s.Digest)
	}
	if !slices.Equal(gotValues, wantValues) || !slices.Equal(gotSecrets, wantSecrets) {
		t.Error("the versions are not the last two, newest first")
	}
	if text, err := d.Reveal(t.Context(), k.AccountID, k.ID); err != nil || text != values[0] {
		t.Errorf("reveals %q: %v", text, err)
	}
}

func TestRotationBounds(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "one@example.com")
	k := d.key(t, a.ID).Key
	for _, r := range []Rotation{{Value: true, Overlap: -1}, {Value: true, Overlap: maxOverlap + 1}, {Overlap: time.Hour}} {
		issued, err := d.RotateKey(t.Context(), actor(), a.ID, k.ID, r)
		want(t, err, nodegate.InvalidInput, "")
		if issued != nil {
			t.Error("a key was issued")
		}
	}
	if got, err := d.Key(t.Context(), a.ID, k.ID); err != nil || !reflect.DeepEqual(got, k) {
		t.Errorf("it changed to %+v, %v", got, err)
	}
}

// TestChangesAtOnce has 16 people add an entry to one key each.
func TestChangesAtOnce(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "one@example.com")
	k := d.key(t, a.ID).Key
	before := d.auditCount(t)
	const people = 16
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			err := d.UpdateKey(context.Background(), actor(), a.ID, k.ID, func(_ *string, s *nodegate.KeySettings) {
				s.Methods = append(s.Methods, fmt.Sprintf("eth_m%02d", i))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := d.Key(t.Context(), a.ID, k.ID)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.Settings.Methods)
	if methods := slices.Compact(got.Settings.Methods); len(methods) != people {
		t.Errorf("%d of %d changes are there", len(methods), people)
	}
	if n := d.auditCount(t) - before; n != people || got.Version != people+1 {
		t.Errorf("%d audit entries, version %d", n, got.Version)
	}
	if r, err := d.VerifyAudit(t.Context()); err != nil || r.Broken != 0 || r.Entries != int64(before+people) {
		t.Errorf("the audit log is %+v, %v", r, err)
	}
}

// TestExpireKey: a key is revoked when it has expired, not before, and can't be changed or shown
// from then on.
func TestExpireKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := d.customer(t, "one@example.com")
		end := now().Add(time.Hour).Truncate(time.Second)
		for msg, at := range map[string]time.Time{"in the future": now(), "within 10 years": now().AddDate(11, 0, 0)} {
			_, err := d.CreateKey(t.Context(), actor(), a.ID, "shop", nodegate.KeySettings{Expires: at})
			want(t, err, nodegate.InvalidInput, msg)
		}
		made, err := d.CreateKey(t.Context(), actor(), a.ID, "shop", nodegate.KeySettings{Expires: end.In(time.FixedZone("here", 3600)).Add(time.Millisecond)})
		if err != nil || made.Key.Settings.Expires != end {
			t.Fatalf("it expires at %v, want %v: %v", made.Key.Settings.Expires, end, err)
		}
		id := made.Key.ID
		expire := func() *nodegate.Key {
			if err := d.ExpireKey(t.Context(), actor(), a.ID, id); err != nil {
				t.Fatal(err)
			}
			k, err := d.Key(t.Context(), a.ID, id)
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		if k := expire(); !k.Live() {
			t.Error("it was revoked before its time")
		}
		time.Sleep(time.Hour)
		_, err = d.Reveal(t.Context(), a.ID, id)
		want(t, err, nodegate.NotFound, "")
		err = d.UpdateKey(t.Context(), actor(), a.ID, id, func(_ *string, s *nodegate.KeySettings) { s.Expires = time.Time{} })
		want(t, err, nodegate.NotFound, "")
		k := expire()
		if k.Live() || k.Values[0].Sealed != nil {
			t.Errorf("it was not revoked: %+v", k)
		}
		revoked := k.Revoked
		time.Sleep(time.Minute)
		if k = expire(); k.Revoked != revoked {
			t.Error("it was revoked again")
		}
	})
}
