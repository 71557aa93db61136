package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
)

// TestNote: a note is written with the next block, or when the store is closed, and goes with
// the blocks.
func TestNote(t *testing.T) {
	fs := vfs.NewCrashableMem()
	note := func(fs vfs.FS, want string) {
		t.Helper()
		s := openStore(t, testConfig(fs))
		if got, err := Note(s); err != nil || string(got) != want {
			t.Errorf("the note is %q, %v, want %q", got, err, want)
		}
		must(t, s.Close())
	}
	s := openStore(t, testConfig(fs))
	SetNote(s, []byte("one"))
	must(t, s.Append(testBlock(5, [32]byte{}, 5, nil)))
	SetNote(s, []byte("two"))
	note(fs.CrashClone(vfs.CrashCloneCfg{}), "one")
	must(t, s.Close())
	note(fs, "two")
	s = openStore(t, testConfig(fs))
	must(t, s.Reset())
	must(t, s.Close())
	note(fs, "")
}

// TestExisting: what is there is opened whichever chain it is of, and nothing is created.
func TestExisting(t *testing.T) {
	fs := vfs.NewMem()
	existing := testConfig(fs)
	existing.Genesis, existing.Existing = [32]byte{}, true
	missing := func(what string, cfg Config) {
		t.Helper()
		if s, err := Open(cfg); !errors.Is(err, nodegate.NotFound) {
			t.Errorf("%s: %v, %v", what, s, err)
		}
	}
	missing("no folder", existing)
	if names, err := fs.List("ledger"); err == nil {
		t.Errorf("there is a folder with %v", names)
	}
	must(t, fs.MkdirAll("ledger", 0o700))
	missing("an empty folder", existing)
	s := openStore(t, testConfig(fs))
	must(t, s.Append(testBlock(5, [32]byte{}, 5, nil)))
	must(t, s.Close())
	stack := existing
	stack.Stack = "optimism"
	missing("another stack", stack)
	s = openStore(t, existing)
	if _, tip, ok := s.Tip(); Genesis(s) != testConfig(fs).Genesis || !ok || tip.Number != 5 {
		t.Errorf("the copy is of %x and has %v", Genesis(s), tip)
	}
	must(t, s.Close())
	s = openStore(t, testConfig(fs))
	if _, tip, ok := s.Tip(); !ok || tip.Number != 5 {
		t.Error("the copy is gone")
	}
	s.Discard()
	must(t, s.Close())
	missing("a copy that is to be emptied", existing)
}
