package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// fullKey has every field, two values and three secrets.
func fullKey(accountID, id string) *nodegate.Key {
	k := newKey(accountID, id)
	k.Values = append(k.Values, nodegate.KeyValue{Digest: digestOf("old value " + id), Sealed: []byte{0, 1, 255}, Prefix: "ffff", Expires: noon().Add(time.Hour).UTC()})
	for i := range 3 {
		k.Secrets = append(k.Secrets, nodegate.KeySecret{Digest: digestOf(fmt.Sprint("secret ", i, id)), Expires: noon().Add(time.Duration(i) * time.Minute).UTC()})
	}
	k.Secrets[0].Expires = time.Time{}
	k.Settings = nodegate.KeySettings{
		SecretRequired: true, Methods: []string{"eth_call", "net_version"}, Addresses: []string{"0x00000000000000000000000000000000000000ff"},
		Origins: []string{"https://*.example.com"}, UserAgents: []string{`curl "quoted" <b>`, "ü"}, CreditsPerSecond: 10, CreditsPerDay: 1 << 40, KeepParams: true, KeepResponses: true,
	}
	k.Revoked = noon().Add(time.Second).UTC()
	return k
}

func keysRoundTrip(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	bare := &nodegate.Key{ID: "bare", AccountID: "a"}
	secretOnly := &nodegate.Key{ID: "secret", AccountID: "a", Secrets: []nodegate.KeySecret{{Digest: digestOf("only")}}}
	for _, k := range []*nodegate.Key{bare, secretOnly, newKey("a", "plain"), fullKey("a", "full")} {
		saveKey(t, s, k)
		if k.Version != 1 {
			t.Errorf("the first version is %d", k.Version)
		}
		same(t, k.ID, must[*nodegate.Key](t)(s.Key(t.Context(), "a", k.ID)), k)
		for _, v := range k.Values {
			same(t, k.ID+" by digest", must[*nodegate.Key](t)(s.KeyByDigest(t.Context(), v.Digest)), k)
		}
	}
}

func keysChange(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	k := fullKey("a", "k")
	saveKey(t, s, k)
	oldest := k.Values[1].Digest
	// A rotation: a new value at the front, the oldest gone; one secret left.
	k.Values = []nodegate.KeyValue{{Digest: digestOf("newest"), Sealed: []byte("s"), Prefix: "1234"}, k.Values[0]}
	k.Secrets = k.Secrets[2:]
	k.Settings = nodegate.KeySettings{}
	k.Revoked = time.Time{}
	k.Name = "renamed"
	saveKey(t, s, k)
	same(t, "the key", must[*nodegate.Key](t)(s.Key(t.Context(), "a", "k")), k)
	_, err := s.KeyByDigest(t.Context(), oldest)
	is(t, "the oldest value", err, nodegate.NotFound)
	k.Values, k.Secrets = nil, nil
	saveKey(t, s, k)
	same(t, "the key without versions", must[*nodegate.Key](t)(s.Key(t.Context(), "a", "k")), k)
}

func keysOfOthers(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	k := newKey("a", "k")
	saveKey(t, s, k)
	_, err := s.Key(ctx, "b", "k")
	is(t, "the key of another account", err, nodegate.NotFound)
	same(t, "its own keys", len(must[[]*nodegate.Key](t)(s.KeysOf(ctx, "b"))), 0)
	stolen := *k
	stolen.AccountID, stolen.Name = "b", "stolen"
	is(t, "a save of another account's key", s.Save(ctx, &nodegate.Change{Key: &stolen, Audit: entry("key.save", "b", "k")}), nodegate.Conflict)
	same(t, "the key after it", must[*nodegate.Key](t)(s.Key(ctx, "a", "k")), k)
}

func keysByDigest(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	k := newKey("a", "k")
	saveKey(t, s, k)
	k.Revoked = noon().UTC()
	saveKey(t, s, k)
	same(t, "a revoked key", must[*nodegate.Key](t)(s.KeyByDigest(ctx, k.Values[0].Digest)), k)
	other := newKey("a", "other")
	other.Values[0].Digest = k.Values[0].Digest
	is(t, "a digest that is taken", s.Save(ctx, &nodegate.Change{Key: other, Audit: entry("key.create", "a", "other")}), nodegate.Conflict)
	_, err := s.Key(ctx, "a", "other")
	is(t, "the key that was refused", err, nodegate.NotFound)
	other = newKey("a", "k")
	other.Values[0].Digest = digestOf("fresh")
	is(t, "an id that is taken", s.Save(ctx, &nodegate.Change{Key: other, Audit: entry("key.create", "a", "k")}), nodegate.Conflict)
}

func keysOldestFirst(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	var want []*nodegate.Key
	for i, id := range []string{"m", "a", "z", "b"} {
		k := fullKey("a", id)
		k.Created = noon().Add(time.Duration(i) * time.Microsecond).UTC()
		if i%2 == 0 {
			k.Revoked = time.Time{}
		}
		want = append(want, k)
	}
	for _, i := range []int{2, 0, 3, 1} {
		saveKey(t, s, want[i])
	}
	saveKey(t, s, newKey("b", "c"))
	same(t, "the keys", must[[]*nodegate.Key](t)(s.KeysOf(t.Context(), "a")), want)
}

func liveKeysInPages(t *testing.T, s Store) {
	var want []string
	for _, account := range []string{"a", "b"} {
		saveAccount(t, s, newAccount(account))
		for i := range 6 {
			k := fullKey(account, fmt.Sprint(i, account))
			if i%3 > 0 {
				k.Revoked = time.Time{}
				want = append(want, k.ID)
			}
			saveKey(t, s, k)
		}
	}
	slices.Sort(want)
	for _, size := range []int{1, 3, 100} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page := must[[]*nodegate.Key](t)(s.LiveKeys(t.Context(), after, size))
			if len(page) > size {
				t.Fatalf("a page of %d has %d", size, len(page))
			}
			if len(page) == 0 {
				break
			}
			for _, k := range page {
				got = append(got, k.ID)
				same(t, "a key of a page", k, must[*nodegate.Key](t)(s.Key(t.Context(), k.AccountID, k.ID)))
			}
		}
		same(t, fmt.Sprint("pages of ", size), got, want)
	}
}

// mixedKeys saves keys of two accounts. It returns those of "a" in the order of pages:
// two that work, newest first, then three revoked ones, of which one has no time.
func mixedKeys(t *testing.T, s Store) []*nodegate.Key {
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	var list []*nodegate.Key
	for i, id := range []string{"m", "c", "z", "b", "x"} {
		k := fullKey("a", id)
		k.Created = noon().Add(-time.Duration(i%3) * time.Microsecond).UTC()
		if i < 2 {
			k.Revoked = time.Time{}
		}
		list = append(list, k)
	}
	list[4].Created = time.Time{}
	list[2], list[3] = list[3], list[2] // "b" is newer than "z"
	for _, i := range []int{2, 0, 4, 3, 1} {
		saveKey(t, s, list[i])
	}
	saveKey(t, s, newKey("b", "of another account"))
	return list
}

func keysInPages(t *testing.T, s Store) {
	want := mixedKeys(t, s)
	list := func(q nodegate.KeyQuery) []*nodegate.Key {
		q.AccountID = "a"
		return must[[]*nodegate.Key](t)(s.ListKeys(t.Context(), q))
	}
	same(t, "all", list(nodegate.KeyQuery{Limit: 9}), want)
	same(t, "a page", list(nodegate.KeyQuery{Skip: 1, Limit: 3}), want[1:4])
	same(t, "the last page", list(nodegate.KeyQuery{Skip: 3, Limit: 3}), want[3:])
	same(t, "beyond it", len(list(nodegate.KeyQuery{Skip: 5, Limit: 3})), 0)
	same(t, "live ones", list(nodegate.KeyQuery{Live: true, Limit: 9}), want[:2])
	same(t, "the newest live one", list(nodegate.KeyQuery{Live: true, Limit: 1}), want[:1])
	same(t, "none", len(list(nodegate.KeyQuery{})), 0)
	same(t, "odd bounds", len(list(nodegate.KeyQuery{Skip: -1, Limit: -1})), 0)
}

func keysByID(t *testing.T, s Store) {
	want := mixedKeys(t, s)
	list := func(q nodegate.KeyQuery) []*nodegate.Key {
		q.AccountID, q.Limit = "a", 9
		return must[[]*nodegate.Key](t)(s.ListKeys(t.Context(), q))
	}
	ids := []string{"of another account", want[3].ID, want[0].ID, "nothing", "odd\x00\xff"}
	same(t, "keys by id", list(nodegate.KeyQuery{IDs: ids}), []*nodegate.Key{want[0], want[3]})
	same(t, "live keys by id", list(nodegate.KeyQuery{IDs: ids, Live: true}), want[:1])
	same(t, "no ids", len(list(nodegate.KeyQuery{IDs: []string{}})), 0)
}

func keysCounted(t *testing.T, s Store) {
	mixedKeys(t, s)
	for account, want := range map[string]nodegate.KeyCount{"a": {Live: 2, Revoked: 3}, "b": {Live: 1}, "nobody": {}} {
		same(t, "keys of "+account, must[nodegate.KeyCount](t)(s.CountKeys(t.Context(), account)), want)
	}
}
