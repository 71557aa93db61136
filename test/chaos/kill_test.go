package chaos

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // reads the account store
)

// promises are what the program has acknowledged.
type promises struct {
	mu      sync.Mutex
	pinned  map[string]int // seed of the content by CID
	removed map[string]bool
	keys    []issued
}

// issued is what `nodegate key create` prints.
type issued struct {
	Key    string `json:"api_key"`
	Secret string `json:"api_key_secret"`
}

func newPromises() *promises { return &promises{pinned: map[string]int{}, removed: map[string]bool{}} }

func (k *promises) pin(cid string, seed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pinned[cid] = seed
}

// doubt takes a promise back until the next answer: either state is right.
func (k *promises) doubt(cid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pinned, cid)
}

func (k *promises) remove(cid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.removed[cid] = true
}

// contentOf is a small file, or every eighth time one of several blocks.
func contentOf(seed int) []byte {
	if seed%8 == 0 {
		return pattern(seed, 600_000)
	}
	return pattern(seed, 1000+seed%5*900)
}

// addAndRemove adds, and takes every fifth pin off again, until the server is gone.
func (k *promises) addAndRemove(ctx context.Context, p *program, seed int) {
	for ; ctx.Err() == nil; seed++ {
		cid, _ := p.add("", contentOf(seed))
		if cid == "" {
			return
		}
		k.pin(cid, seed)
		if seed%5 != 0 {
			continue
		}
		k.doubt(cid)
		if p.post("pin/rm?arg="+cid, "", nil).status == http.StatusOK {
			k.remove(cid)
		}
	}
}

// addThenPin pins what was stored before. A collection may come between the two.
func (k *promises) addThenPin(ctx context.Context, p *program, seed int) {
	for ; ctx.Err() == nil; seed++ {
		cid, _ := p.add("pin=false", contentOf(seed))
		if cid == "" {
			return
		}
		if p.post("pin/add?arg="+cid, "", nil).status == http.StatusOK {
			k.pin(cid, seed)
		}
	}
}

// makeKeys lets the command line make keys beside the server. The command is killed
// together with it.
func (k *promises) makeKeys(ctx context.Context, p *program) {
	for ctx.Err() == nil {
		out, err := p.command(ctx, "key", "create", "--account", "dev@localhost", "--json").Output()
		var key issued
		if err != nil || json.Unmarshal(out, &key) != nil || key.Secret == "" {
			continue
		}
		k.mu.Lock()
		k.keys = append(k.keys, key)
		k.mu.Unlock()
	}
}

// check holds the program to what it promised: all pins, and the content of those
// that were added since a seed; 0 is everything, and what else is pinned too.
func (k *promises) check(t *testing.T, p *program, since int) {
	t.Helper()
	pins := p.pins()
	for cid := range k.removed {
		if pins[cid] {
			t.Errorf("%s was removed and is pinned again", cid)
		}
	}
	each(k.pinned, func(cid string, seed int) {
		if !pins[cid] {
			t.Errorf("%s was acknowledged and is not pinned", cid)
		}
		if seed < since {
			return
		}
		if r := p.post("cat?arg="+cid, "", nil); r.status != http.StatusOK || r.body != string(contentOf(seed)) {
			t.Errorf("%s was acknowledged and is not whole: %d %.200s", cid, r.status, r.body)
		}
	})
	for cid := range pins {
		if _, known := k.pinned[cid]; known || since > 0 {
			continue
		}
		if r := p.post("cat?arg="+cid, "", nil); r.status != http.StatusOK {
			t.Errorf("%s is pinned and not whole: %d %.200s", cid, r.status, r.body)
		}
	}
}

// each does something with all of a map, some at a time.
func each(all map[string]int, do func(string, int)) {
	var wait sync.WaitGroup
	turns := make(chan struct{}, 8)
	for cid, seed := range all {
		turns <- struct{}{}
		wait.Go(func() {
			do(cid, seed)
			<-turns
		})
	}
	wait.Wait()
}

func (k *promises) checkKeys(t *testing.T, p *program, from int) {
	t.Helper()
	for _, key := range k.keys[from:] {
		if r := p.postAs(key.Key, key.Secret, "version", "", nil, nil); r.status != http.StatusOK {
			t.Errorf("a key that was made opens nothing: %d %s", r.status, r.body)
		}
	}
}

// TestKill is row 28: kill -9 again and again, while clients add, pin and unpin, keys
// are made and garbage is collected.
func TestKill(t *testing.T) {
	rounds := length(5, 100)
	o := begin(t, 28, fmt.Sprintf("kill -9, %d times, under adds, pins, new keys, collections", rounds), "0 acknowledged lost, SQLite whole, DAGs whole, ready within 5 s")
	b := newSandbox(t, "NODEGATE_STORAGE_UNDO=0s")
	k := newPromises()
	var starts []time.Duration
	keys := 0
	p := b.start()
	for round := range rounds {
		workAndKill(t.Context(), k, p, round)
		checkDatabase(t, b)
		p = b.start()
		starts = append(starts, p.ready)
		k.check(t, p, round*roundSeeds)
		k.checkKeys(t, p, keys)
		keys = len(k.keys)
		if t.Failed() {
			t.Fatalf("round %d\n%.4000s", round, p.logs)
		}
	}
	k.check(t, p, 0)
	k.checkKeys(t, p, 0)
	slowest := slices.Max(starts)
	o.say("%d pins, %d removals, %d keys: 0 lost; slowest start %v", len(k.pinned), len(k.removed), len(k.keys), slowest.Round(time.Millisecond))
	o.within(slowest <= 5*time.Second)
	if len(k.pinned) < roundPins*rounds || len(k.removed) < rounds || len(k.keys) == 0 {
		t.Errorf("too little was done between the kills to show anything: %s", o.measured)
	}
}

// roundSeeds keeps the content of two rounds apart.
const roundSeeds = 100_000_000

func workAndKill(ctx context.Context, k *promises, p *program, round int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pins, removals, _ := k.counts()
	var wait sync.WaitGroup
	seed := func(worker int) int { return round*roundSeeds + worker*1_000_000 }
	const adders = 3
	for worker := range adders {
		wait.Go(func() { k.addAndRemove(ctx, p, seed(worker)) })
	}
	wait.Go(func() { k.addThenPin(ctx, p, seed(adders)) })
	wait.Go(func() { k.makeKeys(ctx, p) })
	wait.Go(func() {
		for ctx.Err() == nil {
			p.collect(ctx)
		}
	})
	k.await(ctx, pins+roundPins+adders, removals+1) // each may take a pin back until it is killed
	time.Sleep(rand.N(300 * time.Millisecond))      // so that the kill hits other work each time
	_ = p.cmd.Process.Kill()
	cancel()
	wait.Wait()
	p.kill()
}

// roundPins is how many pins are at least acknowledged between two kills.
const roundPins = 10

// await waits until that many pins and removals, and a key, are acknowledged. A server that
// does not get there within a minute is killed as it is; the test counts at its end.
func (k *promises) await(ctx context.Context, pins, removals int) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if p, r, keys := k.counts(); p >= pins && r >= removals && keys > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (k *promises) counts() (pins, removals, keys int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pinned), len(k.removed), len(k.keys)
}

// checkDatabase looks at a copy of the account store as the crash left it: opening
// the original would repair it.
func checkDatabase(t *testing.T, b *sandbox) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"nodegate.db", "nodegate.db-wal"} {
		data, err := os.ReadFile(b.path("data", name))
		if os.IsNotExist(err) && strings.HasSuffix(name, "-wal") {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "nodegate.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the account store after a kill: %s %v", verdict, err)
	}
}

// TestRot is row 31: while the program is stopped, bytes of stored blocks change and
// others are overwritten. Nothing wrong is ever sent, and adding again repairs it.
func TestRot(t *testing.T) {
	o := begin(t, 31, "bit rot: 1 byte flipped in 10 blocks, 10 cut short", "20 of 20 detected, 0 wrong bytes, start unaffected, healed by adding again")
	b := newSandbox(t)
	p := b.start()
	const count, bad = 40, 20
	var cids []string
	for i := range count {
		cids = append(cids, p.mustAdd(pattern(i+1, 20_000)))
	}
	p.kill()
	for i := range bad {
		spoil(t, b, pattern(i+1, 20_000), i%2 == 0)
	}
	p = b.start()
	refused, whole := 0, 0
	for i, cid := range cids {
		r := p.post("cat?arg="+cid, "", nil)
		switch {
		case i < bad && r.status != http.StatusOK:
			refused++
		case i >= bad && r.body == string(pattern(i+1, 20_000)):
			whole++
		default:
			t.Errorf("file %d: %d, %d bytes", i, r.status, len(r.body))
		}
	}
	healed := 0
	for i := range bad {
		if p.mustAdd(pattern(i+1, 20_000)) == cids[i] && p.post("cat?arg="+cids[i], "", nil).body == string(pattern(i+1, 20_000)) {
			healed++
		}
	}
	o.say("%d of %d detected, %d others whole, %d healed, start %v", refused, bad, whole, healed, p.ready.Round(time.Millisecond))
	if refused != bad || whole != count-bad || healed != bad {
		t.Error(o.measured)
	}
}

// spoil finds content in the segments and changes one byte of it, or its second half.
func spoil(t *testing.T, b *sandbox, content []byte, flip bool) {
	t.Helper()
	files, _ := filepath.Glob(b.path("data", "storage", "segments", "*.seg"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, content)
		if at < 0 {
			continue
		}
		if flip {
			data[at+len(content)/3] ^= 0x40
		} else {
			clear(data[at+len(content)/2 : at+len(content)])
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("the content is in no segment")
}

// have tells whether a program is installed.
func have(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
