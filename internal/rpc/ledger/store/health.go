package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// retryPause is how long a failed write waits before it is repeated. Pebble would
// repeat it at once, and keep a core busy while the disk is full.
const retryPause = 50 * time.Millisecond

// health knows whether the database can be written. Pebble's own idea of a failed write
// is to end the process; here only those who write learn about it.
type health struct {
	log *slog.Logger

	opened  atomic.Bool           // before that, Open reports what fails
	stuck   func(error)           // what Open is told when it can't go on by itself
	trouble atomic.Pointer[error] // why writes wait now; may pass
	failure atomic.Pointer[error] // why nothing is written any more
	stopped chan struct{}         // closed with the failure
	once    sync.Once

	parked   atomic.Bool // goroutines of Pebble are held: it can't be closed
	broken   func()      // makes the next Open begin with an empty folder
	isBroken atomic.Bool // that was done because tables are damaged
}

func newHealth(log *slog.Logger, stuck func(error)) *health {
	return &health{log: log, stuck: stuck, stopped: make(chan struct{}), broken: func() {}}
}

// stop ends all writing until the folder is opened again.
func (h *health) stop(err error) {
	h.once.Do(func() {
		h.failure.Store(&err)
		close(h.stopped)
		if h.opened.Load() {
			h.log.Error("the ledger can't be written until a restart: lookups go on with what it has", "err", err)
		}
	})
}

// park holds a goroutine of Pebble for good. What it would do next, after an error that
// it takes for fatal, is to panic.
func (h *health) park(err error) {
	h.parked.Store(true)
	h.stop(err)
	if !h.opened.Load() {
		h.stuck(err)
	}
	select {}
}

// insist repeats a write for as long as the disk is full: Pebble can't go on without it.
// After any other error it doesn't return.
func (h *health) insist(write func() error) error {
	for tries := 0; ; tries++ {
		err := write()
		if err == nil {
			if tries > 0 {
				h.recovered()
			}
			return nil
		}
		if !disk.IsFull(err) {
			h.park(err)
		}
		h.hinder(err)
		time.Sleep(retryPause)
	}
}

// synced passes on the outcome of a sync. It is never repeated: the kernel has forgotten
// what it could not write, and a second sync would succeed without it.
func (h *health) synced(err error) error {
	if err != nil {
		h.park(err)
	}
	return err
}

// hinder notes why writes wait.
func (h *health) hinder(err error) {
	if h.trouble.Swap(&err) == nil {
		h.log.Warn("the ledger waits for its disk", "err", err)
	}
	if !h.opened.Load() {
		h.stuck(err)
	}
}

// recovered notes that writing works.
func (h *health) recovered() {
	if h.trouble.Load() != nil && h.trouble.Swap(nil) != nil {
		h.log.Info("the ledger's disk can be written again")
	}
}

// err is why nothing can be written now, or nil.
func (h *health) err() error {
	if err := h.final(); err != nil {
		return err
	}
	if err := h.trouble.Load(); err != nil {
		return fail("write", *err)
	}
	return nil
}

// final is why nothing can be written until a restart, or nil.
func (h *health) final() error {
	if err := h.failure.Load(); err != nil {
		return &nodegate.Error{Op: "ledger.write", Code: nodegate.Internal, Msg: "the ledger's database failed: restart the server to open it again", Err: *err}
	}
	return nil
}

// listener hears what Pebble does in the background.
func (h *health) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: h.background,
		// Whoever reads gets the error; tables that can't be merged come to background.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			h.log.Warn("a table of the ledger is damaged: what it holds is asked of nodes", "file", info.Path, "err", info.Details)
		},
		FlushEnd: func(info pebble.FlushInfo) {
			if info.Err == nil {
				h.recovered()
			}
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if info.Err == nil {
				h.recovered()
			}
		},
	}
}

// background takes an error of a flush or a merge, which Pebble then repeats. Damage
// doesn't pass: tables that can't be merged pile up until writes stand still.
func (h *health) background(err error) {
	switch {
	case errors.Is(err, pebble.ErrCancelledCompaction), errors.Is(err, pebble.ErrClosed):
		return
	case pebble.IsCorruptionError(err):
		if h.final() == nil {
			h.broken()
			h.isBroken.Store(true)
		}
		h.stop(err)
	default:
		h.hinder(err)
	}
	time.Sleep(retryPause)
}

// pebbleLog is what Pebble logs to.
type pebbleLog struct{ health *health }

func (pebbleLog) Infof(string, ...any) {}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.health.log.Warn("the ledger's database reports an error", "err", fmt.Sprintf(format, args...))
}

// Fatalf is expected not to return.
func (l pebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if l.health.opened.Load() {
		l.health.park(err)
	}
	l.health.stop(err)
}
