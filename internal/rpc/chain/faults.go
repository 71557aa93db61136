package chain

import (
	"path/filepath"
	"strings"
	"sync"
)

// faultTable knows which network a folder belongs to. go-ethereum's log and its
// database's file system are one each for the whole process, and both only say which
// file has failed.
type faultTable struct {
	mu sync.Mutex
	by map[string]*producer // by folder, of the networks that are served
}

// faults is the table of this process.
var faults = &faultTable{by: map[string]*producer{}}

// watch lets faults in a folder stop a network. A chain in memory has none.
func (t *faultTable) watch(dir string, p *producer) {
	if dir == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by[absolute(dir)] = p
}

func (t *faultTable) forget(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, absolute(dir))
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// owner is the network that a file belongs to, or nil while that one is being opened.
func (t *faultTable) owner(path string) *producer {
	path = absolute(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	for dir, p := range t.by {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			return p
		}
	}
	return nil
}

// stop fails the networks whose folder a text names, or all of them where it names none.
// It returns false when no network is served.
func (t *faultTable) stop(text string, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	named := false
	for dir, p := range t.by {
		if strings.Contains(text, dir) {
			p.fail(err)
			named = true
		}
	}
	for _, p := range t.by {
		if !named {
			p.fail(err)
		}
	}
	return len(t.by) > 0
}

// park never returns. It keeps a goroutine from what comes after a failure that the
// database can't survive: ending the process. Its network has stopped, and nobody waits
// for it.
func park() { select {} }
