package heads

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// flaky is a Redis that can be away.
type flaky struct{ err error }

func (f *flaky) Raise(_ context.Context, _ string, number uint64) (uint64, error) {
	return number, f.err
}

func (f *flaky) Watch(context.Context, string, func(uint64), func(uint64)) {}

// TestSharedRecoveryIsNoWarning: that the others are away is a warning, and that they are
// back is not. Each is logged once.
func TestSharedRecoveryIsNoWarning(t *testing.T) {
	var logs bytes.Buffer
	shared := &flaky{}
	tr := New(Config{Shared: shared, Log: slog.New(slog.NewTextHandler(&logs, nil)), Changed: func() {}, Reset: func() {}})
	for _, err := range []error{nil, errors.New("refused"), errors.New("refused"), nil, nil} {
		shared.err = err
		tr.shareOne(t.Context(), &nodegate.Head{Number: 1})
	}
	lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[1], "level=INFO") {
		t.Errorf("the log:\n%s", logs.String())
	}
}

// TestComing: who reads the head while another server is about to tell of a higher one
// waits until all servers know of it, for a moment at most, and never for nonsense.
func TestComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, nodes := quiet(1)
		reportBlock(tr, nodes[0], "aa", 100, "aa")
		read := func() (uint64, time.Duration) {
			start := time.Now()
			head, _ := tr.Head(t.Context())
			return head.Number, time.Since(start)
		}
		for _, c := range []struct {
			what   string
			number uint64
			opened time.Duration // 0: never
			want   uint64
			took   time.Duration
		}{
			{"one that is opened", 101, 5 * time.Millisecond, 101, 5 * time.Millisecond},
			{"one that is known", 101, 0, 101, 0},
			{"one that nobody opens", 102, 0, 102, openWithin},
			{"one that can't be", 1 << 60, 0, 102, 0},
		} {
			tr.coming.set(tr, c.number)
			if c.opened > 0 {
				time.AfterFunc(c.opened, func() { tr.learnShared(c.number) })
			}
			if number, took := read(); number != c.want || took != c.took {
				t.Errorf("%s: %d after %v, want %d after %v", c.what, number, took, c.want, c.took)
			}
		}
	})
}
