package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestAbortedUploads is row 46: four uploads are cut off when the disk is 90 % full,
// and four more are there when the process is killed. The next add finds the room.
func TestAbortedUploads(t *testing.T) {
	o := begin(t, 46, "4 uploads cut off at 90 % of a disk of 64 MB; the same and kill -9", "the next add of 30 MB succeeds within 2 s")
	b := newSandbox(t, "NODEGATE_STORAGE_UNDO=0s", "NODEGATE_STORAGE_RESERVE=2MiB")
	mountSmall(t, o, b.path("data"))
	p := b.start()
	kept := p.mustAdd(pattern(1, 500_000))
	size := uploadSize(t, b)
	for round := range length(2, 6) {
		uploads := p.uploadHalf(t, 100*round, size)
		waitFull(t, b)
		uploads.cutOff()
		if took, r := p.addWithin(pattern(round+10, 30_000_000), 10*time.Second); took > 2*time.Second || r.status != http.StatusOK {
			t.Errorf("round %d: after %v: %d %.200s", round, took, r.status, r.body)
		} else {
			o.say("cut off: the next add of 30 MB was stored %v later", round2(took))
		}
		p.unpinAll(t, kept)
	}
	uploads := p.uploadHalf(t, 5000, size)
	waitFull(t, b)
	p.kill()
	uploads.cutOff()
	p = b.start()
	took, r := p.addWithin(pattern(77, 30_000_000), 10*time.Second)
	if took > 2*time.Second || r.status != http.StatusOK {
		t.Errorf("after a kill, after %v: %d %.200s", took, r.status, r.body)
	}
	o.say("%s; after a kill %v after the start", o.measured, round2(took))
	if p.post("cat?arg="+kept, "", nil).body != string(pattern(1, 500_000)) {
		t.Error("what was stored before differs")
	}
}

func round2(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// uploadSize is what each of four uploads writes so that the disk is 90 % full.
func uploadSize(t *testing.T, b *sandbox) int {
	t.Helper()
	free, total := diskSpace(t, b)
	return int(free-total/10) / 4
}

func diskSpace(t *testing.T, b *sandbox) (free, total int64) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(b.path("data"), &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize)
}

// waitFull waits until uploads have filled the disk.
func waitFull(t *testing.T, b *sandbox) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if free, total := diskSpace(t, b); free < total*15/100 {
			return
		}
	}
	free, total := diskSpace(t, b)
	t.Fatalf("%d of %d bytes are still free", free, total)
}

// halfUploads are uploads that never end by themselves.
type halfUploads struct {
	pipes []*io.PipeWriter
	wait  sync.WaitGroup
}

// uploadHalf sends the first bytes of four files and leaves them there.
func (p *program) uploadHalf(t *testing.T, seed, size int) *halfUploads {
	t.Helper()
	u := &halfUploads{}
	for i := range 4 {
		r, w := io.Pipe()
		u.pipes = append(u.pipes, w)
		u.wait.Go(func() { p.post("add", "multipart/form-data; boundary="+boundary, r) })
		u.wait.Go(func() {
			_, _ = io.WriteString(w, partHead(fmt.Sprint("f", i), "application/octet-stream"))
			_, _ = w.Write(pattern(seed+i+1000, size))
		})
	}
	return u
}

// holdUploads begins uploads with a key and leaves them there. What is answered is told.
func (p *program) holdUploads(key, secret string, count int, answered func(reply)) *halfUploads {
	u := &halfUploads{}
	for range count {
		r, w := io.Pipe()
		u.pipes = append(u.pipes, w)
		u.wait.Go(func() {
			answered(p.postAs(key, secret, "add", "multipart/form-data; boundary="+boundary, r, nil))
			_ = r.Close()
		})
		u.wait.Go(func() { _, _ = io.WriteString(w, partHead("f", "application/octet-stream")) })
	}
	return u
}

// cutOff breaks the connections.
func (u *halfUploads) cutOff() {
	for _, w := range u.pipes {
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
	}
	u.wait.Wait()
}

// addWithin adds until it is taken, or a time is over.
func (p *program) addWithin(content []byte, most time.Duration) (took time.Duration, r reply) {
	begun := time.Now()
	for {
		var cid string
		if cid, r = p.add("", content); cid != "" || time.Since(begun) > most {
			return time.Since(begun), r
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// unpinAll takes all pins off but one, and collects.
func (p *program) unpinAll(t *testing.T, but string) {
	t.Helper()
	for cid := range p.pins() {
		if cid == but {
			continue
		}
		if r := p.post("pin/rm?arg="+cid, "", nil); r.status != http.StatusOK {
			t.Fatalf("pin/rm: %d %s", r.status, r.body)
		}
	}
	if !p.collect(t.Context()) {
		t.Fatalf("no collection\n%.2000s", p.logs)
	}
}

// TestStorageBelowReserve is the storage side of row 45: something else fills the disk.
func TestStorageBelowReserve(t *testing.T) {
	o := begin(t, 45, "storage on a disk of 64 MB that something else fills, below the reserve and to the last byte", "reads 100 %, writes 507, 0 acknowledged lost, works again, no exit")
	b := newSandbox(t, "NODEGATE_STORAGE_RESERVE=16MiB")
	mountSmall(t, o, b.path("data"))
	p := b.start()
	stored := map[string]int{}
	for i := range 10 {
		stored[p.mustAdd(pattern(i+1, 300_000))] = i + 1
	}
	readable := func() (n int) {
		for cid, seed := range stored {
			if p.post("cat?arg="+cid, "", nil).body == string(pattern(seed, 300_000)) {
				n++
			}
		}
		return n
	}
	refused, read := 0, 0
	for _, left := range []int64{8 << 20, 0} {
		fillTo(t, b, left)
		for range length(5, 50) {
			read += readable()
			for _, try := range []func() reply{
				func() reply { _, r := p.add("", []byte("new")); return r },
				func() reply { return p.putBlock("block/put", "new") },
				func() reply { return p.putBlock("dag/put", `{"new":1}`) },
				func() reply { return p.post("pin/add?arg="+anyOf(stored), "", nil) },
			} {
				if r := try(); r.status == http.StatusInsufficientStorage {
					refused++
				} else {
					t.Errorf("with %d bytes left: %d %.200s", left, r.status, r.body)
				}
			}
		}
	}
	if err := os.Remove(b.path("data", "filler")); err != nil {
		t.Fatal(err)
	}
	took, r := p.addWithin(pattern(500, 300_000), 10*time.Second)
	if r.status != http.StatusOK {
		t.Errorf("after freeing: %d %s", r.status, r.body)
	}
	rounds := 2 * length(5, 50)
	o.say("reads %d of %d, writes refused with 507 %d of %d, works again %v after space was freed", read, rounds*len(stored), refused, rounds*4, round2(took))
	p.kill()
	p = b.start()
	if n := readable(); n != len(stored) || read != rounds*len(stored) {
		t.Errorf("%d of %d are readable after a kill; %s", n, len(stored), o.measured)
	}
}

func (p *program) putBlock(command, text string) reply {
	kind, data := form("data", []byte(text))
	return p.post(command, kind, bytes.NewReader(data))
}

func anyOf(set map[string]int) (name string) {
	for name = range set {
		break
	}
	return name
}

// fillTo fills the disk until so many bytes are left.
func fillTo(t *testing.T, b *sandbox, left int64) {
	t.Helper()
	f, err := os.OpenFile(b.path("data", "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	free, _ := diskSpace(t, b)
	for free > left {
		if _, err := f.Write(make([]byte, min(free-left, 1<<20))); err != nil {
			return // full
		}
		free, _ = diskSpace(t, b)
	}
}
