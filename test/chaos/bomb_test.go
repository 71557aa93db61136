package chaos

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

const boundary = "chaos-boundary"

// partHead begins a part of a hand-made body.
func partHead(name, kind string) string {
	return fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n", boundary, name, kind)
}

const closing = "--" + boundary + "--\r\n"

const noEnd = "a header without an end"

// bombs are bodies that want more than they are worth.
func bombs() map[string]func() io.Reader {
	text := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	var many strings.Builder
	for i := range 20_000 {
		many.WriteString(partHead(fmt.Sprintf("f%d", i), "text/plain") + "x\r\n")
	}
	header := strings.Repeat("h", 1<<20)
	lines := strings.Repeat("X-Header: x\r\n", 100_000)
	nested := strings.Repeat(partHead("n", "multipart/mixed; boundary="+boundary), 1000)
	return map[string]func() io.Reader{
		"20,000 parts":                text(many.String() + closing),
		"a header of 1 MB":            text(partHead(header, "text/plain") + "x\r\n" + closing),
		"a header line of 1 MB":       text("--" + boundary + "\r\nX: " + header + "\r\n\r\nx\r\n" + closing),
		"100,000 header lines":        text("--" + boundary + "\r\n" + lines + "\r\nx\r\n" + closing),
		noEnd:                         func() io.Reader { return io.LimitReader(&endless{start: "--" + boundary + "\r\nX: "}, 64<<20) },
		"1,000 bodies in each other":  text(nested),
		"no closing boundary":         text(partHead("x", "text/plain") + strings.Repeat("no end ", 1<<20)),
		"no boundary at all":          func() io.Reader { return io.LimitReader(&endless{}, 64<<20) },
		"folders in folders, 100,000": text(partHead(strings.Repeat("d/", 100_000)+"f", "text/plain") + "x\r\n" + closing),
	}
}

// endless is a start, and then one letter forever.
type endless struct{ start string }

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.start)
	e.start = e.start[n:]
	for i := n; i < len(b); i++ {
		b[i] = 'e'
	}
	return len(b), nil
}

// TestBombs is row 25: bodies of too many and too large parts.
func TestBombs(t *testing.T) {
	const limit = 50 << 20
	o := begin(t, 25, "20,000 parts, 1 MB headers, nested, no closing boundary", "4xx, memory below +50 MB, no temporary files, nothing pinned")
	b := newSandbox(t)
	p := b.start()
	p.mustAdd(pattern(1, 20_000_000)) // what an honest upload needs is there
	before := p.pins()
	var highest int64
	answered, cut := 0, 0
	for name, body := range bombs() {
		grown := p.growth(func() {
			if explode(t, p, name, body()) {
				answered++
			} else {
				cut++
			}
		})
		t.Logf("%s: memory +%d MB", name, grown>>20)
		most := int64(limit)
		if name == noEnd { // not of this row: the standard library takes 10 MB of it before it has enough
			most = 2 * limit
		} else {
			highest = max(highest, grown)
		}
		if grown > most {
			t.Errorf("%s: memory +%d MB", name, grown>>20)
		}
	}
	if after := p.pins(); len(after) != len(before) {
		t.Errorf("%d pins, %d before", len(after), len(before))
	}
	left := tree(t, b.path("tmp"))
	o.say("%d bodies: %d times 4xx, %d times hung up, memory +%d MB at most, %d temporary files", len(bombs()), answered, cut, highest>>20, len(left))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// explode sends a body and reports whether it was answered: a server that has seen
// enough may also hang up on the rest.
func explode(t *testing.T, p *program, name string, body io.Reader) (answered bool) {
	t.Helper()
	r := p.post("add", "multipart/form-data; boundary="+boundary, body)
	answered = r.status >= 400 && r.status < 500
	if r.status != 0 && !answered {
		t.Errorf("%s: %d %.200s", name, r.status, r.body)
	}
	if r := p.post("version", "", nil); r.status != http.StatusOK {
		t.Fatalf("%s: the service is gone: %d %s\n%.4000s", name, r.status, r.body, p.logs)
	}
	return answered
}

// TestInflation is row 11: bodies that would inflate a thousandfold.
func TestInflation(t *testing.T) {
	o := begin(t, 11, "20 gzip bodies of 100 MiB in 100 KB", "refused, memory below +100 MB")
	p := newSandbox(t).start()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, partHead("bomb", "application/octet-stream"))
	zeros := make([]byte, 1<<20)
	for range 100 {
		_, _ = z.Write(zeros)
	}
	_, _ = io.WriteString(z, "\r\n"+closing)
	_ = z.Close()
	refused := 0
	var mu sync.Mutex
	grown := p.growth(func() {
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				r := p.postAs(p.key, p.secret, "add", "multipart/form-data; boundary="+boundary, bytes.NewReader(packed.Bytes()),
					http.Header{"Content-Encoding": {"gzip"}})
				mu.Lock()
				defer mu.Unlock()
				if r.status >= 400 && r.status < 500 {
					refused++
				}
			})
		}
		wait.Wait()
	})
	o.say("%d of 20 refused (%d KB each), memory +%d MB", refused, packed.Len()>>10, grown>>20)
	if refused != 20 || grown > 100<<20 || len(p.pins()) != 0 {
		t.Error(o.measured)
	}
}

// tree lists all that is in a folder.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := walk(dir, func(path string, _ os.FileInfo) { list = append(list, path) })
	if err != nil {
		t.Fatal(err)
	}
	return list
}
