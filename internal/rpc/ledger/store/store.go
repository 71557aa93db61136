package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// format changes with the form of keys and rows. A folder of the one before is converted, and one
// of any other is emptied.
const format = 3

// Config is what a store works with.
type Config struct {
	Dir     string // created if it is missing
	ChainID uint64
	Genesis [32]byte
	Stack   string      // layer-2 stack, or "": rows of one are not read by another
	Cache   *Cache      // blocks of tables; nil makes one of Memory
	Memory  int64       // bytes of it; memtables are extra
	Guard   *disk.Guard // nil: a full disk shows when a write fails
	Log     *slog.Logger
	// Existing opens a copy that is there, of whichever chain, and creates or empties none.
	Existing bool
	// Stop ends a conversion of an older format, which may take minutes; the next Open continues
	// it. Nil is never.
	Stop <-chan struct{}

	files      vfs.FS // nil: the operating system's
	memtable   uint64 // 0: memtableBytes
	tableBlock int    // 0: tableBlock
}

// Store is the ledger's database. All methods may be used concurrently. Reads never wait
// for writes.
type Store struct {
	Reader
	cfg Config

	writing  sync.Mutex    // held by the one that writes
	pending  chan struct{} // closed when the last batch is on disk; nil if there was none
	state    atomic.Pointer[state]
	note     atomic.Pointer[[]byte]
	noted    *[]byte       // the note that was written
	changing atomic.Uint64 // pointers of this height and above are not on disk yet
	marks    markCache
}

// Open opens the copy of a chain, or begins one. A folder that holds another chain or
// format, or can't be read, is emptied with a line in the log. A disk that can't be
// read or written is an error, and nothing is removed then.
//
// Returns NotFound if there has to be a copy, and there is none.
func Open(cfg Config) (*Store, error) {
	if cfg.files == nil {
		cfg.files = systemFiles
	}
	if _, err := cfg.files.Stat(cfg.Dir); err != nil && cfg.Existing {
		return nil, noCopy(err)
	}
	if err := cfg.files.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, openError(err)
	}
	lock, err := pebble.LockDirectory(cfg.Dir, cfg.files)
	if err != nil {
		return nil, openError(err)
	}
	type result struct {
		s   *Store
		err error
	}
	done, stuck := make(chan result, 1), make(chan error, 1)
	go func() {
		s, err := openOrWipe(cfg, lock, func(err error) {
			select {
			case stuck <- err:
			default: // Open knows already
			}
		})
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		return r.s, openError(r.err)
	case err := <-stuck:
		// Pebble repeats writes until they succeed. If they ever do, nobody waits for it.
		go func() {
			if r := <-done; r.s != nil {
				_ = r.s.Close() // and somebody may open it again
			}
		}()
		return nil, openError(err)
	}
}

// openOrWipe opens a folder, or empties it and begins with an empty one. The lock is
// released if that fails.
func openOrWipe(cfg Config, lock *pebble.Lock, stuck func(error)) (*Store, error) {
	s, err := open(cfg, lock, stuck)
	var why *unusable
	unfit := errors.As(err, &why)
	switch {
	case unfit && cfg.Existing:
		err = noCopy(err)
	case unfit:
		cfg.Log.Warn("the ledger's copy can't be used and is emptied", "folder", cfg.Dir, "why", why.why)
		if err = wipe(cfg.files, cfg.Dir); err == nil {
			s, err = open(cfg, lock, stuck)
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func noCopy(err error) error {
	return &nodegate.Error{Op: "ledger.open", Code: nodegate.NotFound, Msg: "the ledger's folder has no copy of a chain", Err: err}
}

func openError(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case disk.IsFull(err):
		return disk.Full("ledger.open", err)
	case errors.Is(err, nodegate.NotFound):
		return err
	}
	return &nodegate.Error{Op: "ledger.open", Code: nodegate.BadConfig, Msg: "the ledger's folder can't be used", Err: err}
}

// open opens a folder as it is. Returns unusable if it has to be emptied.
func open(cfg Config, lock *pebble.Lock, stuck func(error)) (*Store, error) {
	db, err := openDatabase(&cfg, lock, stuck)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, Reader: Reader{db: source{db, db.pebble, nil}, heads: new(headCache)}}
	s.changing.Store(math.MaxUint64)
	if err = s.load(); err == nil && db.health.final() != nil {
		err = &unusable{db.health.final().Error()}
	}
	if err != nil {
		return nil, errors.Join(err, db.pebble.Close())
	}
	db.health.opened.Store(true)
	return s, nil
}

// load reads whose copy this is and how far it goes.
func (s *Store) load() error {
	found, err := s.db.value([]byte{keyIdentity})
	if s.cfg.Existing && len(found) >= genesisEnd {
		s.cfg.Genesis = [32]byte(found[genesisEnd-32:])
	}
	identity := s.cfg.identity()
	switch {
	case err != nil:
		return judge(err)
	case found == nil && s.cfg.Existing:
		return &unusable{"it is empty"}
	case found == nil:
		return s.claim(identity)
	case string(found) == string(s.cfg.identityOf(formatApart)):
		err := (&converter{&s.cfg, s.db}).convert()
		if errors.Is(err, nodegate.InsufficientStorage) || errors.Is(err, errStopped) {
			return err // the next Open continues
		}
		if err != nil {
			return judge(err)
		}
	case string(found) != string(identity):
		return &unusable{"it is of another chain, format or stack"}
	}
	row, err := s.db.value([]byte{keyState})
	if err != nil {
		return judge(err)
	}
	if row == nil {
		return nil // nothing was stored yet
	}
	st, ok := decodeState(row)
	if !ok {
		return &unusable{"its state can't be read"}
	}
	for _, p := range []Place{st.first, st.tip} {
		if m, ok, err := s.db.pointer(p.Number); err != nil {
			return judge(err)
		} else if !ok || m.Place != p {
			return &unusable{fmt.Sprintf("block %d is not the one that its state names", p.Number)}
		}
	}
	s.state.Store(st)
	return nil
}

// identity says whose copy this is, and how it is written.
func (c *Config) identity() []byte { return c.identityOf(format) }

func (c *Config) identityOf(format byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{format}, c.ChainID)
	return append(append(b, c.Genesis[:]...), c.Stack...)
}

// genesisEnd is where the hash of the first block ends in an identity.
const genesisEnd = 1 + 8 + 32

// Genesis is the hash of the chain's first block.
func Genesis(s *Store) [32]byte { return s.cfg.Genesis }

// claim makes an empty database that of a chain. One that isn't empty lost its identity.
func (s *Store) claim(identity []byte) error {
	err := s.db.scan([]byte{0}, []byte{255}, func(_, _ []byte) error {
		return &unusable{"it has blocks, and nothing that says of which chain"}
	})
	if err != nil {
		return judge(err)
	}
	// Pebble reports a failed write to its log only.
	return errors.Join(s.db.pebble.Set([]byte{keyIdentity}, identity, pebble.Sync), s.db.health.final())
}

// Close closes the database. What was acknowledged is on disk already. A database that
// can't be written is left as it is and keeps its folder locked: the next start opens it.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.settle()
	if err == nil {
		err = leave(s)
	}
	if !s.db.refuse() {
		return nil
	}
	if err != nil && s.unsettled() {
		return err
	}
	return s.db.close()
}

// Discard makes the next Open begin with an empty folder: what is here is damaged, or not
// wanted any more.
func (s *Store) Discard() { s.db.health.broken() }

// Broken tells whether tables are damaged so that nothing can be written any more, and the
// next Open begins with an empty folder.
func Broken(s *Store) bool { return s.db.health.isBroken.Load() }

// Failed returns why nothing can be written now, or nil. InsufficientStorage passes when
// there is space again; after any other error the store has to be opened again, unless
// the disk recovers by itself.
func (s *Store) Failed() error { return s.db.health.err() }
