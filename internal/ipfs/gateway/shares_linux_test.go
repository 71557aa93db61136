package gateway

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"golang.org/x/sys/unix"

	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// TestManyLargeRequestsGetLowPriority: an account that has used up its allowance works at
// low priority from the start, also in requests that take a moment only. Others don't.
func TestManyLargeRequestsGetLowPriority(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	s := newShares(Config{})
	priority := func(owner string) (nice int32) {
		ctx, p, err := s.enter(t.Context(), owner, true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.leave()
		_ = p.apart(ctx, func(context.Context) error {
			attr, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				return nil
			}
			nice = attr.Nice
			return nil
		})
		return nice
	}
	usual := priority("a")
	for range 1000 {
		priority("a")
	}
	if got := priority("a"); got <= usual {
		t.Errorf("after 1,000 requests the account has niceness %d", got)
	}
	if got := priority("b"); got != usual {
		t.Errorf("another account has niceness %d", got)
	}
	inTurns(t, &s, "c", 600*time.Millisecond)
	if got := priority("c"); got <= usual {
		t.Errorf("after a long request that took turns the account has niceness %d", got)
	}
}

// inTurns is a request that works for so long, in turns.
func inTurns(t *testing.T, s *shares, owner string, long time.Duration) {
	t.Helper()
	ctx, p, err := s.enter(t.Context(), owner, true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	fairshare.TakeTurns(ctx)
	err = p.apart(ctx, func(ctx context.Context) error {
		return fairshare.Do(ctx, func() { time.Sleep(long) })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReadArchivesStepBack: what an archive of the read gateway sends is work of its own
// thread, which gets low priority when it takes turns.
func TestReadArchivesStepBack(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	s := newShares(Config{})
	ctx, p, err := s.enter(t.Context(), "a", true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	fairshare.TakeTurns(ctx)
	r := &reading{call: &call{gateway: &Gateway{}, req: httptest.NewRequest("GET", "/", nil).WithContext(ctx), place: p}}
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = r.apart(func(context.Context) error {
		if err := fairshare.Do(r.req.Context(), func() {}); err != nil {
			return err
		}
		attr, err := unix.SchedGetAttr(0, 0)
		if err == nil && attr.Nice <= usual.Nice {
			t.Errorf("it works with niceness %d", attr.Nice)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReadsStepBack: commands that take blocks apart, or have long lists of arguments, work on
// a thread of their own, which gets low priority when they take turns. The smallest of them
// don't.
func TestReadsStepBack(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	srv, g := served(t, budget.Config{Process: 64 << 20})
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines, kind := argsBody(t, strings.Repeat(someCID+"\n", 2000))
	one, oneKind := argsBody(t, someCID)
	for _, c := range []struct {
		name, query, kind string
		body              []byte
		low               bool
	}{
		{"resolve", "?arg=/ipfs/" + someCID + "/a", "", nil, true},
		{"resolve", "?arg=" + someCID, "", nil, false},
		{"dag/resolve", "?arg=" + someCID + "/a", "", nil, true},
		{"dag/get", "?arg=" + someCID, "", nil, true},
		{"files/stat", "?arg=/ipfs/" + someCID, "", nil, true},
		{"block/get", "?arg=" + someCID + "/a", "", nil, true},
		{"block/get", "?arg=" + someCID, "", nil, false},
		{"block/stat", "?arg=" + someCID + "/a", "", nil, true},
		{"dag/put", "", oneKind, one, true},
		{"cid/format", "", kind, lines, true},
		{"cat", "?arg=" + someCID, "", nil, false},
	} {
		ran := false
		g.commands[c.name].run = func(ctx context.Context, _ *call) error {
			ran = true
			fairshare.TakeTurns(ctx)
			if err := fairshare.Do(ctx, func() {}); err != nil {
				return err
			}
			attr, err := unix.SchedGetAttr(0, 0)
			if err == nil && (attr.Nice > usual.Nice) != c.low {
				t.Errorf("%s%s works with niceness %d, usual is %d", c.name, c.query, attr.Nice, usual.Nice)
			}
			return err
		}
		if got := ask(t, srv, c.name+c.query, c.kind, bytes.NewReader(c.body)); !ran {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// TestPinsStepBack: the content of a pin is read at low priority once its account has used up
// its allowance, unless it is a small block and the only one of its request.
func TestPinsStepBack(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	g := gateway()
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	reads := func(owner string, small bool, args ...string) (low bool) {
		ctx, place, err := g.shares.enter(t.Context(), owner, true)
		if err != nil {
			t.Fatal(err)
		}
		defer place.leave()
		p := &pinner{call: &call{gateway: g, place: place, args: args}, seen: func(unixfs.Walked) {}}
		p.batch = readBatch{small: small, get: func() ([]byte, error) {
			attr, err := unix.SchedGetAttr(0, 0)
			low = err == nil && attr.Nice > usual.Nice
			return []byte{}, err
		}}
		if walked, err := p.walk(ctx, cid.MustParse(someCID), true); err != nil || walked.Blocks != 1 {
			t.Errorf("%s: %v %v", owner, walked, err)
		}
		return low
	}
	if reads("a", false) {
		t.Error("the first pin of an account is read at low priority")
	}
	for { // what an account owes is little: on a busy machine it may have it back too early
		begun := time.Now()
		g.shares.spent.Spend("b", 60, allowance)
		if reads("b", false, someCID) && reads("b", true, someCID, someCID) {
			break
		}
		if time.Since(begun) < 100*time.Millisecond {
			t.Fatal("an account that has used up its allowance reads at normal priority")
		}
	}
	g.shares.spent.Spend("b", 60, allowance)
	if reads("b", true, someCID) {
		t.Error("a single pin of a small block is handed to another thread")
	}
}

// TestStreamsWaitForAPlace: when all places of low priority are taken, a file waits for one to
// come free, and goes on without when none does.
func TestStreamsWaitForAPlace(t *testing.T) {
	s := newShares(Config{})
	for range lowStreams {
		if !s.enterStream(t.Context()) {
			t.Fatal("no place although some are free")
		}
	}
	s.patience = time.Millisecond
	if s.enterStream(t.Context()) {
		t.Fatal("a place although all are taken")
	}
	s.patience = time.Hour
	entered := make(chan bool)
	go func() { entered <- s.enterStream(t.Context()) }()
	<-s.streams
	if !<-entered {
		t.Error("no place although one came free")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if s.enterStream(ended) {
		t.Error("a place for a request that has ended")
	}
}

// readBatch is a batch that is only read.
type readBatch struct {
	unixfs.Batch
	get   func() ([]byte, error)
	small bool
}

func (b readBatch) Get(context.Context, cid.Cid) ([]byte, error) { return b.get() }

func (b readBatch) Small(context.Context, cid.Cid, int) ([]byte, bool) {
	if !b.small {
		return nil, false
	}
	data, err := b.get()
	return data, err == nil
}
