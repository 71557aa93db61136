package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// serveEnv makes the test program a server on a folder, so that a test can kill one.
const serveEnv = "NODEGATE_STORAGE_TEST_SERVE"

// serveUntilKilled is what the test program does then.
func serveUntilKilled(dir string) {
	s, err := launch(dir, nil)
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	fmt.Println(s.secure)
	select {}
}

// process is a server in a process of its own.
type process struct {
	cmd   *exec.Cmd
	base  string
	ended sync.Once
}

func runProcess(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serveEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "https://") {
		t.Fatalf("the server says %q: %v", line, err)
	}
	return &process{cmd: cmd, base: "http" + strings.TrimPrefix(strings.TrimSpace(line), "https")}
}

// kill may be called again, by whoever wants to be sure.
func (p *process) kill() {
	p.ended.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
}

const kills = 10

// TestKill kills a server while clients add and pin, again and again. What was
// acknowledged is there, whole and pinned; what was removed stays removed.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "killed", "unlimited")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acked := &acknowledged{added: map[string]int{}, removed: map[string]bool{}}
	for round := range kills {
		p := runProcess(t, dir)
		at := *n
		at.service = &service{base: p.base}
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for worker := range 4 {
			wait.Go(func() { acked.work(ctx, &at, (round*4+worker)*1_000_000) })
		}
		acked.grows(t)
		time.Sleep(time.Duration(37*round) * time.Millisecond)
		p.kill()
		cancel()
		wait.Wait()
	}
	p := runProcess(t, dir)
	defer p.kill()
	n.service = &service{base: p.base}
	acked.check(t, n)
}

// acknowledged is what a server said it has done.
type acknowledged struct {
	mu      sync.Mutex
	added   map[string]int // the seed of the content by CID
	removed map[string]bool
}

// grows waits until something more was added and removed.
func (k *acknowledged) grows(t *testing.T) {
	t.Helper()
	count := func() (added, removed int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.added), len(k.removed)
	}
	added, removed := count()
	until(t, "something is acknowledged", func() bool {
		a, r := count()
		return a > added && r > removed
	})
}

func sizeOf(seed int) int { return 1000 + seed%7*50_000 }

// work adds, and removes every fifth pin again, until the server is gone.
func (k *acknowledged) work(ctx context.Context, n *tenant, seed int) {
	for ; ctx.Err() == nil; seed++ {
		a := n.upload("add?progress=true", file("x", pattern(seed, sizeOf(seed))))
		if a.status != http.StatusOK || a.err != nil {
			return
		}
		_, line, _ := strings.Cut(a.body, `"Hash":"`)
		cid, _, found := strings.Cut(line, `"`)
		if !found {
			return
		}
		k.mu.Lock()
		k.added[cid] = seed
		k.mu.Unlock()
		if seed%5 != 0 {
			continue
		}
		k.mu.Lock()
		delete(k.added, cid) // until the answer is here, either is right
		k.mu.Unlock()
		if a := n.do("pin/rm?arg=" + cid); a.status == http.StatusOK && a.err == nil {
			k.mu.Lock()
			k.removed[cid] = true
			k.mu.Unlock()
		}
	}
}

func (k *acknowledged) check(t *testing.T, n *tenant) {
	t.Helper()
	pins := n.pins(t)
	for cid, seed := range k.added {
		if pins[cid].Type != "recursive" {
			t.Errorf("%s was acknowledged and is not pinned", cid)
		}
		if a := n.do("cat?arg=" + cid); a.status != http.StatusOK || a.body != string(pattern(seed, sizeOf(seed))) {
			t.Errorf("%s was acknowledged and is not whole: %d %.200s", cid, a.status, a.body)
		}
	}
	for cid := range k.removed {
		if _, there := pins[cid]; there {
			t.Errorf("%s was removed and is pinned", cid)
		}
	}
	t.Logf("%d kills, %d adds and %d removals that were acknowledged, %d pins", kills, len(k.added), len(k.removed), len(pins))
	if len(k.added) < kills || len(k.removed) == 0 {
		t.Error("too little was done between the kills to show anything")
	}
}

// TestDamage flips a byte of a stored block while the server is stopped. Wrong bytes
// are never sent, and adding the content again repairs it.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "damage", "unlimited")
	content, small := pattern(800, 3<<20), []byte("a small file that is damaged too")
	big := n.add(t, "", file("big", content))[0]
	little := n.add(t, "", file("little", small))[0]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, dir, content[2<<20:2<<20+100])
	flip(t, dir, small)
	if s, err = launch(dir, func(c *config.Config) { c.Storage.Undo = time.Hour }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n.service = s
	a := n.do("cat?arg=" + big)
	if a.status == http.StatusOK && a.err == nil || !strings.HasPrefix(string(content), a.body) {
		t.Errorf("a damaged file: %d, %d bytes, %v", a.status, len(a.body), a.err)
	}
	n.fails(t, "cat?arg="+little, http.StatusInternalServerError, "damaged")
	if !strings.Contains(s.Logs.String(), "damaged") {
		t.Error("the log does not name the damage")
	}
	if pins := n.pins(t); pins[big].Type != "recursive" || pins[little].Type != "recursive" {
		t.Errorf("pins: %v", pins)
	}
	n.add(t, "", file("big", content))
	n.add(t, "", file("little", small))
	if got := n.ok(t, "cat?arg="+big); got != string(content) {
		t.Error("the big file is not healed")
	}
	if got := n.ok(t, "cat?arg="+little); got != string(small) {
		t.Error("the small file is not healed")
	}
}

// flip changes a byte of some content wherever the store has it.
func flip(t *testing.T, dir string, content []byte) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(filepath.Join(dir, "storage", "segments"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if at := strings.Index(string(data), string(content)); at >= 0 {
			found++
			data[at+len(content)/2] ^= 0x10
			return os.WriteFile(path, data, 0o600)
		}
		return nil
	})
	if err != nil || found != 1 {
		t.Fatalf("found %d times: %v", found, err)
	}
}

// TestFullDisk: when the disk is almost full, writes are refused; reads and removals
// go on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "full", "unlimited")
	content := pattern(900, 500_000)
	cid := n.add(t, "", file("x", content))[0]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = launch(dir, func(c *config.Config) { c.Storage.Reserve = 1 << 60 }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n.service = s
	for _, command := range []string{"add", "block/put"} {
		if a := n.upload(command, file("y", pattern(901, 500_000))); a.status != http.StatusInsufficientStorage || a.body != "insufficient storage\n" {
			t.Errorf("%s: %d %s", command, a.status, a.body)
		}
	}
	if got := n.ok(t, "cat?arg="+cid); got != string(content) {
		t.Error("the content differs")
	}
	n.ok(t, "pin/rm?arg="+cid)
}
