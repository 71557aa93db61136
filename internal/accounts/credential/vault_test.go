package credential

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
)

func newVault(t testing.TB, pepper string) *Vault {
	t.Helper()
	v, err := New([]byte(pepper))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKeyForm(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		k := NewKey()
		if !WellFormed(k) || seen[k] {
			t.Fatalf("%q is not a new well-formed key", k)
		}
		seen[k] = true
	}
	// The contract's rule, worked out by hand: 28 digits and the start of their SHA-256.
	if good := "dec0de00dec0de00dec0de00dec06257"; !WellFormed(good) {
		t.Errorf("%s is refused", good)
	}
	for _, bad := range []string{"", "dec0de00dec0de00dec0de00dec06258", "DEC0DE00DEC0DE00DEC0DE00DEC06257", "dec0de00dec0de00dec0de00dec0625", "gec0de00dec0de00dec0de00dec06257", strings.Repeat("0", 32), strings.Repeat("a", 1000)} {
		if WellFormed(bad) {
			t.Errorf("%.40q is let through", bad)
		}
	}
	if s := NewSecret(); len(s) != 40 {
		t.Errorf("a secret has %d digits", len(s))
	}
	if s := NewToken(); len(s) != 64 {
		t.Errorf("a token has %d digits", len(s))
	}
}

// TestDigests are the same on every server with the pepper, and differ in each of
// pepper, purpose and key.
func TestDigests(t *testing.T) {
	a, same, b := newVault(t, "one pepper"), newVault(t, "one pepper"), newVault(t, "another pepper")
	if a.KeyDigest("x") != same.KeyDigest("x") || a.Check() != same.Check() {
		t.Error("the same pepper gives different digests")
	}
	distinct := map[nodegate.Digest]string{}
	for name, d := range map[string]nodegate.Digest{
		"key": a.KeyDigest("x"), "other key": a.KeyDigest("y"), "other pepper": b.KeyDigest("x"),
		"token": a.TokenDigest("x"), "secret": a.SecretDigest("k1", "x"), "other key's secret": a.SecretDigest("k2", "x"),
	} {
		if before, taken := distinct[d]; taken {
			t.Errorf("%s and %s have one digest", name, before)
		}
		distinct[d] = name
	}
	if !Equal(a.KeyDigest("x"), same.KeyDigest("x")) || Equal(a.KeyDigest("x"), a.KeyDigest("y")) {
		t.Error("Equal is wrong")
	}
}

func TestDigestsAtOnce(t *testing.T) {
	v := newVault(t, "pepper")
	want := v.KeyDigest("dec0de00dec0de00dec0de00dec06257")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if v.KeyDigest("dec0de00dec0de00dec0de00dec06257") != want {
					t.Error("a digest changed")
				}
			}
		})
	}
	all.Wait()
}

func TestSeal(t *testing.T) {
	v, key := newVault(t, "pepper"), NewKey()
	sealed := v.Seal("k-1", key)
	if strings.Contains(string(sealed), key) || strings.Contains(hex.EncodeToString(sealed), hex.EncodeToString([]byte(key))) {
		t.Error("the key is readable")
	}
	if got, err := v.Unseal("k-1", sealed); err != nil || got != key {
		t.Errorf("unsealed %q: %v", got, err)
	}
	for name, open := range map[string]func() (string, error){
		"another id":     func() (string, error) { return v.Unseal("k-2", sealed) },
		"another pepper": func() (string, error) { return newVault(t, "other").Unseal("k-1", sealed) },
		"a changed byte": func() (string, error) {
			return v.Unseal("k-1", append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1))
		},
		"too short": func() (string, error) { return v.Unseal("k-1", sealed[:5]) },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s unseals %q", name, got)
		}
	}
}

func TestPepperFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	first, err := Pepper(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "pepper"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	if again, err := Pepper(dir, ""); err != nil || string(again) != string(first) {
		t.Errorf("read back %x: %v", again, err)
	}
	if given, err := Pepper(dir, strings.Repeat("x", 32)); err != nil || string(given) != strings.Repeat("x", 32) {
		t.Errorf("the configured pepper is not taken: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPepperRace starts many processes' worth of first starts at once: all get one pepper.
func TestPepperRace(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 16 {
		all.Go(func() {
			p, err := Pepper(dir, "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			seen[string(p)] = true
		})
	}
	all.Wait()
	if len(seen) != 1 {
		t.Errorf("%d peppers", len(seen))
	}
}

// TestOneForm: what is in the file means the same in the variable, and stores that were
// made with the bytes of the variable's text keep that reading, from the file too.
func TestOneForm(t *testing.T) {
	dir := t.TempDir()
	text, err := Pepper(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	inFile, err := os.ReadFile(filepath.Join(dir, "pepper"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := Pepper(t.TempDir(), string(inFile)) // with the newline that it ends with
	if err != nil {
		t.Fatal(err)
	}
	decoded, _ := hex.DecodeString(text)
	now, before := newVault(t, string(decoded)).Check(), newVault(t, text).Check()
	words := strings.Repeat("words ", 6)
	for _, c := range []struct{ name, text, known, want string }{
		{"a new store, from the file", text, "", now},
		{"a new store, from the variable", given, "", now},
		{"upper case", strings.ToUpper(text), "", now},
		{"a store of the file", given, now, now},
		{"a store of the variable, as it was", text, before, before},
		{"no store of this pepper", text, "another", now},
		{"words in the variable", words, "", newVault(t, words).Check()},
		{"words in the variable, known", words, newVault(t, words).Check(), newVault(t, words).Check()},
	} {
		v, err := Unlock(c.text, c.known)
		if err != nil || v.Check() != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestBadPepperFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"readable by others": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("ab", 32)), 0o644) },
		"empty":              func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"short":              func(path string) error { return os.WriteFile(path, []byte("abcd"), 0o600) },
		"a folder":           func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, "pepper")); err != nil {
				t.Fatal(err)
			}
			if _, err := Pepper(dir, ""); nodegate.AsError(err).Code != nodegate.BadConfig {
				t.Errorf("got %v, want bad config", err)
			}
		})
	}
}

func TestPasswords(t *testing.T) {
	hash := HashPassword("correct horse")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the form is %q", hash)
	}
	if HashPassword("correct horse") == hash {
		t.Error("no salt")
	}
	if !CheckPassword(hash, "correct horse") || CheckPassword(hash, "wrong horse") || CheckPassword("", "") || CheckPassword("$argon2id$nonsense", "x") {
		t.Error("a wrong verdict")
	}
}

func BenchmarkKeyDigest(b *testing.B) {
	v, key := newVault(b, "pepper"), NewKey()
	b.ReportAllocs()
	for b.Loop() {
		v.KeyDigest(key)
	}
}

// TestDamagedHashes are refused like a wrong password: nothing in the database can
// make the check panic, or run without end.
func TestDamagedHashes(t *testing.T) {
	good := HashPassword("correct horse")
	for _, change := range [][2]string{
		{"t=2", "t=0"}, {"t=2", "t=-1"}, {"t=2", "t=4000000000"}, {"m=19456", "m=0"}, {"m=19456", "m=-1"}, {"m=19456", "m=4000000000"},
		{"p=1", "p=0"}, {"p=1", "p=999"}, {"v=19", "v=16"}, {"$argon2id$", "$argon2i$"}, {good[len(good)-43:], ""}, {good[len(good)-43:], "!"},
	} {
		if CheckPassword(strings.Replace(good, change[0], change[1], 1), "correct horse") {
			t.Errorf("%s instead of %s is accepted", change[1], change[0])
		}
	}
}

func TestWellFormedAllocatesNothing(t *testing.T) {
	good, bad := NewKey(), strings.Repeat("0", 32)
	if n := testing.AllocsPerRun(100, func() { WellFormed(good); WellFormed(bad) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
