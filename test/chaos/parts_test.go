package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// TestMissingParts is row 47: one file of a used data folder is gone, each in turn, as
// after half a restore. The program finds everything all the same, or it says what is
// missing and ends with code 2; with the file back, everything is there again.
func TestMissingParts(t *testing.T) {
	o := begin(t, 47, "each file of a used data folder missing in turn", "all data there, or exit code 2 with the reason, and all data with the file back")
	b := newSandbox(t)
	s := &sent{hashes: map[string]bool{}}
	p, cid := used(b, s, devchain.Accounts()[0])
	if err := s.send(t.Context(), p, transferOf(devchain.Accounts()[1], 5000, 1)); err != nil { // waits in the pool
		t.Fatal(err)
	}
	stop(t, p)
	whole := b.path("data")
	kept := b.path("kept")
	if err := os.Rename(whole, kept); err != nil {
		t.Fatal(err)
	}
	refused, unharmed := 0, 0
	for _, name := range partsOf(t, kept) {
		if out, err := exec.Command("cp", "-a", kept, whole).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if err := os.Remove(filepath.Join(whole, name)); err != nil {
			t.Fatal(err)
		}
		if problem := startWithout(b, s, cid, name); problem == "" {
			unharmed++
		} else if strings.HasPrefix(problem, "refused: ") {
			refused++
			t.Logf("without %s %s", name, problem)
		} else {
			t.Errorf("without %s: %s", name, problem)
		}
		if err := os.RemoveAll(whole); err != nil {
			t.Fatal(err)
		}
	}
	o.say("%d files: %d starts refused, %d with all data, 0 with less", refused+unharmed, refused, unharmed)
}

// stop ends the program as an operator does.
func stop(t *testing.T, p *program) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if _, err := p.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
}

var (
	// digits of a name stand for one file of many that are alike.
	digits = regexp.MustCompile(`[0-9]+`)
	// spare files hold no data; without them the starts are like any other.
	spare = regexp.MustCompile(`/limbo/|/rollup/|LOCK$|lock$|OPTIONS|nodekey$|^storage/index/0`)
)

// partsOf lists the files to remove. Beside other tests it is one of each kind, on one
// network.
func partsOf(t *testing.T, dir string) (list []string) {
	t.Helper()
	var kinds []string
	for name := range sizes(t, dir) {
		list = append(list, name)
	}
	slices.Sort(list)
	return slices.DeleteFunc(list, func(name string) bool {
		if length(1, 2) == 2 {
			return false
		}
		kind := digits.ReplaceAllString(name, "N")
		known := slices.Contains(kinds, kind) || spare.MatchString(name) ||
			strings.Contains(name, "ancient/chain/") && !strings.Contains(name, "/headers.")
		kinds = append(kinds, kind)
		return known
	})
}

// sizes are those of all files of a folder.
func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			name, _ := filepath.Rel(dir, path)
			all[name] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// startWithout starts the program on what is left. It returns "" when everything is
// there, what it said when the start was refused and everything is there with the file
// back in its place, or a problem.
func startWithout(b *sandbox, s *sent, cid, name string) string {
	said, code := b.ended()
	if code < 0 {
		return b.lookForAll(s, cid)
	}
	if code != 2 || strings.TrimSpace(said) == "" || strings.Contains(said, "goroutine ") {
		return fmt.Sprintf("exit code %d: %.500s", code, said)
	}
	if out, err := exec.Command("cp", "-a", b.path("kept", name), b.path("data", name)).CombinedOutput(); err != nil {
		b.t.Fatalf("%v %s", err, out)
	}
	if problem := b.lookForAll(s, cid); problem != "" {
		return "with the file back in its place " + problem + "; it said " + said
	}
	return "refused: " + strings.TrimSpace(said)
}

// ended starts the program for as long as it takes to listen, and returns its exit code
// when it has ended by itself, or -1.
func (b *sandbox) ended() (said string, code int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), startTime)
	defer cancel()
	cmd := b.command(ctx, "serve")
	out := new(buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return out.String(), exit.ExitCode()
			}
			return out.String(), 0
		case <-time.After(5 * time.Millisecond):
		}
		if bytes.Contains([]byte(out.String()), []byte("/metrics")) { // it listens
			_ = cmd.Process.Kill()
			<-done
			return out.String(), -1
		}
	}
}

// lookForAll starts the program again, which must find everything.
func (b *sandbox) lookForAll(s *sent, cid string) string {
	b.t.Helper()
	p := b.start()
	defer p.kill()
	if n := s.unknown(p); n > 0 {
		return fmt.Sprintf("%d of %d acknowledged transactions are unknown", n, len(s.hashes))
	}
	if r := p.post("cat?arg="+cid, "", nil); r.body != string(pattern(1, 100_000)) {
		return fmt.Sprintf("the file is gone: %d %.200s", r.status, r.body)
	}
	if !p.pins()[cid] {
		return "the file is not pinned any more"
	}
	return ""
}
