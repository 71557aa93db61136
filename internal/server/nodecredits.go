package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
)

// usedFile keeps what nodes with a limit by day or month were used for, over a restart.
const usedFile = "node-credits.json"

// usedEvery is how often the file is written, and so what a crash forgets.
const usedEvery = time.Minute

// nodeCredits is what nodes were used for, by network and node.
type nodeCredits map[string]map[string]pool.Used

// creditFile is that file.
type creditFile struct{ networks *networks }

// read reads the file. One that is missing or damaged begins from zero: a server that
// doesn't start would be worse than credits that are counted again.
func (f creditFile) read() nodeCredits {
	used := nodeCredits{}
	data, err := os.ReadFile(f.path())
	if err == nil {
		err = json.Unmarshal(data, &used)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.networks.log.Warn("can't read the used credits of nodes; counting from zero", "file", usedFile, "err", err)
		return nodeCredits{}
	}
	return used
}

func (f creditFile) path() string { return filepath.Join(f.networks.cfg.Data, usedFile) }

// write writes the file, if there is anything to keep.
func (f creditFile) write() {
	used := nodeCredits{}
	f.networks.mu.Lock()
	for name, r := range f.networks.remotes {
		if nodes := r.pool.Used(); len(nodes) > 0 {
			used[name] = nodes
		}
	}
	f.networks.mu.Unlock()
	if len(used) == 0 {
		return
	}
	data, err := json.Marshal(used)
	if err == nil {
		err = disk.WriteFile(f.path(), data)
	}
	if err != nil {
		f.networks.log.Warn("can't write the used credits of nodes; a restart will count from zero", "file", usedFile, "err", err)
	}
}

// keep writes the file now and then, until the networks are closed.
func (f creditFile) keep() {
	tick := time.NewTicker(usedEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.write()
		case <-f.networks.closing:
			return
		}
	}
}
