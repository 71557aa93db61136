package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// random is content that compresses to nothing and differs by its seed.
func random(seed uint64, size int) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	b := make([]byte, size)
	_, _ = r.Read(b)
	return b
}

var testFiles = map[string][]byte{
	"pepper":                []byte("a secret that nobody may see"),
	"storage/segments/1":    random(1, 3*SmallChunk+17),
	"networks/devnet/empty": {},
	"nodegate.db":           random(2, 2*SmallChunk),
}

// make1 makes a backup of files, and returns what was new.
func make1(t *testing.T, o Options, files map[string][]byte) Report {
	t.Helper()
	w, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	addAll(t, w, files)
	r, err := w.Finish()
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

func addAll(t *testing.T, w *Writer, files map[string][]byte) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		if err := w.Copy(t.Context(), File{Name: name, Size: int64(len(data))}, bytes.NewReader(data), SmallChunk); err != nil {
			t.Fatal(err)
		}
	}
}

// wantFiles restores a snapshot and compares it.
func wantFiles(t *testing.T, path, passphrase, snapshot string, want map[string][]byte) {
	t.Helper()
	r, err := Open(path, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Snapshot(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != len(want) {
		t.Errorf("%d files, want %d", len(s.Files), len(want))
	}
	for i := range s.Files {
		data, err := io.ReadAll(r.File(t.Context(), &s.Files[i]))
		if err != nil || !bytes.Equal(data, want[s.Files[i].Name]) {
			t.Errorf("%s: %d bytes, %v", s.Files[i].Name, len(data), err)
		}
	}
}

// each runs a test on both forms, with and without a passphrase.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	for _, form := range []string{"folder", "file.tar"} {
		for _, passphrase := range []string{"", "correct horse"} {
			t.Run(form+map[bool]string{true: " sealed"}[passphrase != ""], func(t *testing.T) {
				test(t, Options{Path: filepath.Join(t.TempDir(), form), Passphrase: passphrase, Program: "test"})
			})
		}
	}
}

func TestBackupAndBack(t *testing.T) {
	full.Slow(t)
	each(t, func(t *testing.T, o Options) {
		r := make1(t, o, testFiles)
		if r.Files != len(testFiles) || r.New != r.Bytes {
			t.Errorf("%+v", r)
		}
		wantFiles(t, o.Path, o.Passphrase, "", testFiles)
		if v, err := verify(t, o); err != nil || len(v.Damaged) > 0 || v.Files != len(testFiles) {
			t.Errorf("%+v, %v", v, err)
		}
		modes(t, o.Path)
		if o.Passphrase != "" {
			noPlaintext(t, o.Path)
		}
	})
}

func verify(t *testing.T, o Options) (Verified, error) {
	t.Helper()
	r, err := Open(o.Path, o.Passphrase)
	if err != nil {
		return Verified{}, err
	}
	defer r.Close()
	return r.Verify(t.Context())
}

// modes sees that nobody else may read anything.
func modes(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// noPlaintext searches an encrypted backup for what went in, and for file names.
func noPlaintext(t *testing.T, path string) {
	t.Helper()
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		for _, secret := range []string{"nobody may see", "nodegate.db", "devnet"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s shows %q", name, secret)
			}
		}
		return err
	})
}

// TestFlippedByte flips bytes all over a backup. Each is found, and no file is restored
// with other content.
func TestFlippedByte(t *testing.T) {
	full.Slow(t)
	each(t, func(t *testing.T, o Options) {
		make1(t, o, testFiles)
		r, err := Open(o.Path, o.Passphrase)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_ = filepath.WalkDir(o.Path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == lockName || d.Name() == headerName {
				return err
			}
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range places(len(whole), name == o.Path) {
				bad := slices.Clone(whole)
				bad[at] ^= 0x20
				if err := os.WriteFile(name, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				if v, err := r.Verify(t.Context()); err == nil && len(v.Damaged) == 0 { // opening again takes a while with a passphrase
					t.Errorf("byte %d of %d of %s is flipped, and nobody notices", at, len(whole), d.Name())
				}
			}
			return os.WriteFile(name, whole, 0o600)
		})
	})
}

// places are some bytes of a file. Of a tar file only those inside of its parts: padding
// and times of tar headers mean nothing.
func places(size int, isTar bool) (list []int) {
	if isTar {
		return []int{size / 3, size / 2, size / 3 * 2}
	}
	for i := range 5 {
		list = append(list, i*(size-1)/4)
	}
	return list
}

func TestMissingAndSwappedChunks(t *testing.T) {
	full.Slow(t)
	for _, passphrase := range []string{"", "correct horse"} {
		o := Options{Path: filepath.Join(t.TempDir(), "b"), Passphrase: passphrase}
		make1(t, o, testFiles)
		chunks, err := (&folder{dir: o.Path}).list(chunksDir)
		if err != nil || len(chunks) < 4 {
			t.Fatal(chunks, err)
		}
		first, second := filepath.Join(o.Path, chunks[0]), filepath.Join(o.Path, chunks[1])
		data, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(second)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(first, other, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := verify(t, o); err != nil || len(v.Damaged) != 1 {
			t.Errorf("a chunk in the place of another: %+v, %v", v, err)
		}
		if err := os.Remove(first); err != nil {
			t.Fatal(err)
		}
		if v, err := verify(t, o); err != nil || len(v.Damaged) != 1 {
			t.Errorf("a chunk is missing: %+v, %v", v, err)
		}
		if r := make1(t, o, testFiles); r.New == 0 {
			t.Error("the missing chunk was not written again")
		}
		if v, err := verify(t, o); err != nil || len(v.Damaged) != 0 {
			t.Errorf("after another backup: %+v, %v", v, err)
		}
		_ = data
	}
}

// TestIncremental: a second backup writes only what is new, the first stays as it was, and
// what nobody needs goes.
func TestIncremental(t *testing.T) {
	full.Slow(t)
	for _, passphrase := range []string{"", "correct horse"} {
		o := Options{Path: filepath.Join(t.TempDir(), "b"), Passphrase: passphrase, Keep: 2}
		first := make1(t, o, testFiles)
		if again := make1(t, o, testFiles); again.New != 0 {
			t.Errorf("nothing changed, and %d bytes were written", again.New)
		}
		more := maps.Clone(testFiles)
		more["storage/segments/1"] = append(slices.Clone(more["storage/segments/1"]), random(9, 100)...)
		third := make1(t, o, more)
		if third.New == 0 || third.New > SmallChunk || third.Removed != 1 {
			t.Errorf("%+v", third)
		}
		wantFiles(t, o.Path, o.Passphrase, "", more)
		r, err := Open(o.Path, o.Passphrase)
		if err != nil {
			t.Fatal(err)
		}
		names, err := r.Snapshots()
		if err != nil || len(names) != 2 || slices.Contains(names, first.Snapshot) {
			t.Errorf("snapshots %v, %v", names, err)
		}
		wantFiles(t, o.Path, o.Passphrase, names[0], testFiles)
		_ = r.Close()
		o.Keep = 1
		make1(t, o, map[string][]byte{"pepper": testFiles["pepper"]})
		if chunks, err := (&folder{dir: o.Path}).list(chunksDir); err != nil || len(chunks) != 1 {
			t.Errorf("%d chunks are left, %v", len(chunks), err)
		}
	}
}

// TestKnown: a file that didn't change is not read again, one that might have is.
func TestKnown(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "b")}
	old := time.Now().Add(-time.Hour)
	w, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{"old": old, "new": time.Now()} {
		if err := w.Copy(t.Context(), File{Name: name, Size: 3, Modified: at}, strings.NewReader("abc"), SmallChunk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if w, err = Create(o); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, c := range []struct {
		name string
		size int64
		at   time.Time
		want bool
	}{{"old", 3, old, true}, {"old", 4, old, false}, {"old", 3, old.Add(1), false}, {"new", 3, w.before.Files[0].Modified, false}, {"other", 3, old, false}} {
		if got := w.Known(c.name, c.size, c.at); got != c.want {
			t.Errorf("%s of %d bytes: known %v", c.name, c.size, got)
		}
	}
}

// TestInterrupted: what was not finished is no backup, and the one before stays.
func TestInterrupted(t *testing.T) {
	full.Slow(t)
	each(t, func(t *testing.T, o Options) {
		for range 2 {
			w, err := Create(o)
			if err != nil {
				t.Fatal(err)
			}
			addAll(t, w, testFiles)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(t, o); !errors.Is(err, nodegate.NotFound) {
				t.Errorf("a part of a backup: %v", err)
			}
		}
		make1(t, o, testFiles)
		wantFiles(t, o.Path, o.Passphrase, "", testFiles)
	})
	o := Options{Path: filepath.Join(t.TempDir(), "b")}
	make1(t, o, testFiles)
	w, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	addAll(t, w, map[string][]byte{"pepper": []byte("other")})
	if _, err := Create(o); !errors.Is(err, nodegate.Conflict) {
		t.Errorf("two at once: %v", err)
	}
	_ = w.Close()
	wantFiles(t, o.Path, "", "", testFiles)
}

func TestCanceled(t *testing.T) {
	w, err := Create(Options{Path: filepath.Join(t.TempDir(), "b")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := w.Copy(ctx, File{Name: "a", Size: 1}, strings.NewReader("a"), SmallChunk); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestShorterThanItWas(t *testing.T) {
	w, err := Create(Options{Path: filepath.Join(t.TempDir(), "b")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Copy(t.Context(), File{Name: "a", Size: 2}, strings.NewReader("a"), SmallChunk); !errors.Is(err, nodegate.Damaged) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	foreign, file := filepath.Join(dir, "foreign"), filepath.Join(dir, "a.tar")
	if err := errors.Join(os.MkdirAll(filepath.Join(foreign, "photos"), 0o700), os.WriteFile(file, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, file} {
		if _, err := Create(Options{Path: path}); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none"), ""); !errors.Is(err, nodegate.NotFound) {
		t.Error(err)
	}
	if _, err := Open(foreign, ""); !errors.Is(err, nodegate.NotFound) {
		t.Error(err)
	}
	w, err := Create(Options{Path: filepath.Join(dir, "full"), Reserve: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Expect(1); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("no space: %v", err)
	}
	if err := w.Copy(t.Context(), File{Name: "a", Size: 1}, strings.NewReader("a"), SmallChunk); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("no space: %v", err)
	}
}

func TestPassphrases(t *testing.T) {
	full.Slow(t)
	dir := t.TempDir()
	open, locked := Options{Path: filepath.Join(dir, "open")}, Options{Path: filepath.Join(dir, "locked"), Passphrase: "right"}
	make1(t, open, testFiles)
	make1(t, locked, testFiles)
	for _, c := range []struct{ path, passphrase string }{{open.Path, "any"}, {locked.Path, ""}, {locked.Path, "wrong"}} {
		if _, err := Open(c.path, c.passphrase); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("reading with %q: %v", c.passphrase, err)
		}
		if _, err := Create(Options{Path: c.path, Passphrase: c.passphrase}); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("adding with %q: %v", c.passphrase, err)
		}
	}
	make1(t, locked, testFiles) // a refusal leaves no lock
}

// TestNewerFormat: a later nodegate may change anything, so nothing of it is read.
func TestNewerFormat(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "b")}
	make1(t, o, testFiles)
	text, err := json.Marshal(header{Format: Format + 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Path, headerName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o.Path, ""); !errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), "newer") {
		t.Error(err)
	}
	if _, err := Create(o); !errors.Is(err, nodegate.BadConfig) {
		t.Error(err)
	}
}

// TestHostileSnapshot: names of files and chunks become paths.
func TestHostileSnapshot(t *testing.T) {
	for _, f := range []File{{Name: "../outside"}, {Name: "/etc/passwd"}, {Name: "a", Chunks: []string{"../../../../etc/passwd"}}} {
		o := Options{Path: filepath.Join(t.TempDir(), "b")}
		w, err := Create(o)
		if err != nil {
			t.Fatal(err)
		}
		w.snap.Files = append(w.snap.Files, f)
		if _, err := w.Finish(); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		r, err := Open(o.Path, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Snapshot(""); !errors.Is(err, nodegate.Damaged) {
			t.Errorf("%q %q: %v", f.Name, f.Chunks, err)
		}
	}
}
