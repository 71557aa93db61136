package store

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// takeApart rewrites a copy into the format before this one.
func takeApart(t testing.TB, cfg Config) {
	t.Helper()
	s := openStore(t, cfg)
	b := s.db.pebble.NewBatch()
	kinds := map[part]byte{}
	for _, a := range apart {
		kinds[a.part] = a.kind
	}
	must(t, s.db.scan([]byte{0}, []byte{255}, func(key, value []byte) error {
		var old []byte
		if p, ok := partOf(key); ok {
			old = append(append([]byte{kinds[p]}, key[1:10]...), key[11:]...)
		} else if key[0] == keyHoles {
			old = append([]byte{keyLogs}, key[1:]...)
		} else {
			return nil
		}
		return errors.Join(b.Delete(bytes.Clone(key), nil), b.Set(old, value, nil))
	}))
	must(t, b.Set([]byte{keyIdentity}, cfg.identityOf(formatApart), nil))
	must(t, b.Commit(pebble.Sync))
	must(t, s.db.pebble.Flush())
	must(t, s.Close())
}

// copyOf is what a copy holds.
type copyOf struct {
	*chainModel
	marks map[uint64]Mark
	holes []byte
}

// read notes what the model doesn't know.
func (c *copyOf) read(t testing.TB, s *Store) {
	t.Helper()
	c.marks = map[uint64]Mark{}
	for n := range c.canonical {
		m, ok, err := s.Canonical(n)
		if !ok || err != nil {
			t.Fatal(n, ok, err)
		}
		c.marks[n] = m
	}
	v, err := s.Snapshot()
	must(t, err)
	c.holes, err = v.Holes(nil, 0)
	must(t, errors.Join(err, v.Close()))
}

// oldCopy is a copy with a reorg, blocks beside the chain and without receipts, as the format
// before this one had it.
func oldCopy(t testing.TB) (Config, *copyOf) {
	t.Helper()
	mem, cfg, history := filled(t)
	cfg.files = mem
	s := openStore(t, cfg)
	held := &copyOf{chainModel: history.chainModel}
	held.read(t, s)
	if len(held.holes) == 0 {
		t.Fatal("the copy has no holes")
	}
	must(t, s.Close())
	takeApart(t, cfg)
	return cfg, held
}

// A copy in the format before this one is converted, also one whose conversion was cut off.
func TestConvert(t *testing.T) {
	for name, before := range map[string]func(*converter){
		"whole":             func(*converter) {},
		"after the holes":   func(c *converter) { must(t, c.holes()) },
		"after some blocks": func(c *converter) { must(t, c.holes()); _, _, err := c.some(0); must(t, err) },
		"but for the end": func(c *converter) {
			for more := true; more; {
				_, next, err := c.some(0)
				must(t, err)
				more = next
			}
			must(t, c.holes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, held := oldCopy(t)
			cutOff(t, cfg, before)
			var log strings.Builder
			cfg.Log = logger(&log)
			s := openStore(t, cfg)
			if !strings.Contains(log.String(), "is converted") {
				t.Errorf("log %s", log.String())
			}
			wantConverted(t, s, held)
			must(t, s.Close())
			log.Reset()
			s = openStore(t, cfg)
			defer s.Close()
			wantConverted(t, s, held)
			if log.Len() > 0 {
				t.Errorf("converted twice: %s", log.String())
			}
		})
	}
}

// cutOff does a part of a conversion.
func cutOff(t *testing.T, cfg Config, part func(*converter)) {
	t.Helper()
	lock, err := pebble.LockDirectory(cfg.Dir, cfg.files)
	must(t, err)
	db, err := openDatabase(&cfg, lock, func(error) {})
	must(t, err)
	part(&converter{&cfg, source{db, db.pebble, nil}})
	must(t, errors.Join(db.pebble.Close(), lock.Close()))
}

func wantConverted(t *testing.T, s *Store, held *copyOf) {
	t.Helper()
	must(t, held.checkLeft(s))
	for _, b := range held.blocks {
		must(t, checkBlock(s, b))
	}
	now := &copyOf{chainModel: held.chainModel}
	now.read(t, s)
	if !maps.Equal(now.marks, held.marks) || !bytes.Equal(now.holes, held.holes) {
		t.Errorf("pointers %v, holes %x; want %v, %x", now.marks, now.holes, held.marks, held.holes)
	}
}

// A copy of another chain isn't converted. One on a full disk, or when the server stops, is neither
// converted nor emptied.
func TestConvertRefused(t *testing.T) {
	cfg, held := oldCopy(t)
	full := cfg
	full.Guard = disk.NewGuard(t.TempDir(), 1<<62)
	if _, err := Open(full); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("opened on a full disk: %v", err)
	}
	stopped := cfg
	stop := make(chan struct{})
	close(stop)
	stopped.Stop = stop
	if _, err := Open(stopped); !errors.Is(err, errStopped) {
		t.Errorf("a stopped conversion: %v", err)
	}
	s := openStore(t, cfg)
	wantConverted(t, s, held)
	must(t, s.Close())

	cfg, _ = oldCopy(t)
	cfg.ChainID++
	s = openStore(t, cfg)
	defer s.Close()
	if _, _, ok := s.Tip(); ok {
		t.Error("a copy of another chain is in use")
	}
}
