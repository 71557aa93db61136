package chaos

import (
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// TestFullDisk is row 27: uploads fill a real file system of 64 MB. With a reserve a
// collection has the room that it needs; without one, somebody has to remove a file.
func TestFullDisk(t *testing.T) {
	for _, reserve := range []string{"8MiB", "0"} {
		t.Run("reserve "+reserve, func(t *testing.T) {
			o := begin(t, 27, "4 x 32 MB at once on a disk of 64 MB, reserve "+reserve, "507, old CIDs 100 % readable, works again after freeing, no restart")
			b := newSandbox(t, "NODEGATE_STORAGE_UNDO=0s", "NODEGATE_STORAGE_RESERVE="+reserve)
			mountSmall(t, o, b.path("data"))
			ballast := b.path("data", "ballast")
			if err := os.WriteFile(ballast, make([]byte, ballastSize), 0o600); err != nil {
				t.Fatal(err)
			}
			fillDisk(t, o, b, func() {
				if reserve == "0" {
					_ = os.Remove(ballast)
				}
			})
		})
	}
}

// mountSmall puts a file system of 64 MB on a folder.
func mountSmall(t *testing.T, o *outcome, dir string) {
	t.Helper()
	mountTmpfs(t, o, dir, "64m")
}

// mountTmpfs puts a file system of a size on a folder.
func mountTmpfs(t *testing.T, o *outcome, dir, size string) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		o.skip(t, "no right to mount (%.80s); TestReserve of internal/ipfs/blockstore stands for it", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

// ballastSize is what an operator could remove.
const ballastSize = 10 << 20

func fillDisk(t *testing.T, o *outcome, b *sandbox, makeRoom func()) {
	t.Helper()
	p := b.start()
	old := map[string]int{}
	for i := range 4 {
		old[p.mustAdd(pattern(i+1, 1_000_000))] = i + 1
	}
	readable := func() (n int) {
		for cid, seed := range old {
			if p.post("cat?arg="+cid, "", nil).body == string(pattern(seed, 1_000_000)) {
				n++
			}
		}
		return n
	}
	refused, taken := uploadAll(t, p)
	during := readable()
	for _, cid := range taken {
		if r := p.post("pin/rm?arg="+cid, "", nil); r.status != http.StatusOK {
			t.Errorf("pin/rm on a full disk: %d %s", r.status, r.body)
		}
	}
	makeRoom()
	if !p.collect(t.Context()) {
		t.Errorf("no collection on a full disk\n%.4000s", p.logs)
	}
	cid, r := p.add("", pattern(100, 8_000_000))
	if cid == "" {
		t.Errorf("after freeing: %d %s\n%.4000s", r.status, r.body, p.logs)
	} else if p.post("cat?arg="+cid, "", nil).body != string(pattern(100, 8_000_000)) {
		t.Error("what was added after freeing differs")
	}
	after := readable()
	o.say("%d of 4 got 507; %d of %d old CIDs readable while full and %d after; 8 MB taken after a collection: %t", refused, during, len(old), after, cid != "")
	if refused < 3 || during != len(old) || after != len(old) {
		t.Error(o.measured)
	}
	p.kill()
	p = b.start()
	if n := readable(); n != len(old) {
		t.Errorf("after a kill %d old CIDs are readable", n)
	}
}

// uploadAll sends four large files at once. Each is stored whole or answered with 507.
func uploadAll(t *testing.T, p *program) (refused int, taken []string) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			cid, r := p.add("", pattern(1000+i, 32_000_000))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case cid != "":
				taken = append(taken, cid)
			case r.status == http.StatusInsufficientStorage:
				refused++
			default:
				t.Errorf("an upload: %d %.300s", r.status, r.body)
			}
		})
	}
	wait.Wait()
	return refused, taken
}
