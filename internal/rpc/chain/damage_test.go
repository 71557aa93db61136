package chain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// ways to damage a file.
var damages = map[string]func([]byte) []byte{
	"emptied": func([]byte) []byte { return nil },
	"halved":  func(b []byte) []byte { return b[:len(b)/2] },
	"cut":     func(b []byte) []byte { return b[:len(b)-1] },
	"zeroed":  func(b []byte) []byte { return make([]byte, len(b)) },
	"flipped": func(b []byte) []byte { b[len(b)/2] ^= 0x40; return b },
}

// damagedFiles are the database's files and what happens to them, after how many
// starts: the first one leaves everything in the log, later ones in tables.
var damagedFiles = []struct {
	starts       int
	pattern, how string
}{
	{1, "MANIFEST-*", "gone"}, {1, "MANIFEST-*", "emptied"}, {3, "MANIFEST-*", "halved"}, {3, "MANIFEST-*", "zeroed"}, {3, "MANIFEST-*", "flipped"},
	{1, "*.log", "gone"}, {1, "*.log", "emptied"}, {1, "*.log", "halved"}, {1, "*.log", "zeroed"}, {1, "*.log", "flipped"}, {3, "*.log", "flipped"},
	{3, "*.sst", "gone"}, {3, "*.sst", "emptied"}, {3, "*.sst", "cut"}, {3, "*.sst", "zeroed"}, {3, "*.sst", "flipped"},
	{1, "marker.manifest*", "gone"}, {3, "marker.manifest*", "gone"}, {1, "marker.format-version*", "gone"},
	{1, "ancient/chain/headers.cidx", "halved"}, {1, "ancient/chain/headers.cidx", "flipped"}, {1, "ancient/chain/headers.meta", "zeroed"},
	{3, "OPTIONS-*", "halved"},
}

// A damaged database is refused with exit code 2 and a reason, or it is whole all
// the same. It is never a shorter chain, a stack trace or a hang.
func TestDamagedDatabase(t *testing.T) {
	full.Slow(t)
	folder := t.TempDir()
	bases := map[int]string{1: filepath.Join(folder, "1"), 3: filepath.Join(folder, "3")}
	for starts, base := range bases {
		for range starts {
			answersOf(t, presetConfig(devchain.Devnet(), base))
		}
	}
	for _, c := range damagedFiles {
		t.Run(strings.ReplaceAll(fmt.Sprintf("%s %s %d", c.pattern, c.how, c.starts), "/", " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "chain")
			mustDo(t, os.CopyFS(dir, os.DirFS(bases[c.starts])))
			damage(t, filepath.Join(dir, nodeName, "chaindata"), c.pattern, c.how)
			checkDamaged(t, dir)
		})
	}
}

// damage does it to every file that fits the pattern.
func damage(t *testing.T, dir, pattern, how string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	mustDo(t, err)
	if len(files) == 0 {
		t.Fatal("this database has no such file")
	}
	for _, file := range files {
		if how == "gone" {
			mustDo(t, os.Remove(file))
			continue
		}
		data, err := os.ReadFile(file)
		mustDo(t, err)
		mustDo(t, os.WriteFile(file, damages[how](data), 0o600))
	}
}

func checkDamaged(t *testing.T, dir string) {
	t.Helper()
	said, code := outcomeOfChild(t, child(t, "open", dir))
	// What compaction finds in the background is past recovering, but it says it.
	if strings.Contains(said, "goroutine ") && !strings.HasPrefix(said, "panic: fatal: on-disk corruption: ") {
		t.Fatalf("a panic, exit code %d:\n%s", code, firstLines(said, 3))
	}
	switch code {
	case 0:
		if !strings.Contains(said, "opened head 10 <nil>") {
			t.Errorf("it opened and lost something: %s", said)
		}
	case exitUnusable:
		if strings.TrimSpace(said) == "" {
			t.Error("it was refused without a word")
		}
	default:
		t.Errorf("exit code %d: %s", code, said)
	}
}

func firstLines(s string, n int) string {
	return strings.Join(strings.SplitN(s, "\n", n+1)[:n], "\n")
}

// What go-ethereum calls critical ends the process with the code of unusable data.
func TestCriticalLogEndsProcess(t *testing.T) {
	said, code := outcomeOfChild(t, child(t, "critical", ""))
	if code != exitUnusable || !strings.Contains(said, "the chain database can't be used: no more disk err=full") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
