package kubo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/full"
)

// repairs are engines over one store of pins, as of servers whose nodes change.
type repairs struct {
	*testing.T
	pins  *sqlstore.Store
	clock *clock
}

const repairEvery = time.Hour

func newRepairs(t *testing.T) *repairs { return &repairs{t, pinStore(t), &clock{}} }

// engine keeps some copies on nodes.
func (r *repairs) engine(copies int, nodes ...kubo.Endpoint) *kubo.Engine {
	return open(r.T, func(c *kubo.Config) {
		hurried(c)
		c.Copies, c.Pins, c.Undo = copies, r.pins, time.Minute
		c.SetClock(r.clock.Now)
	}, nodes...)
}

func (r *repairs) repair(e *kubo.Engine) *kubo.Repair { return kubo.NewRepair(e, r.pins, repairEvery) }

// pass makes a pass that is due, and compares what it did.
func (r *repairs) pass(of *kubo.Repair, want kubo.RepairReport) {
	r.Helper()
	want.Ran = true
	got, err := of.Pass(r.Context())
	if err != nil || got != want {
		r.Errorf("the pass did %+v, %v, want %+v", got, err, want)
	}
	r.clock.Advance(repairEvery)
}

// tree stores a block with links to others.
func tree(t *testing.T, e *kubo.Engine, account string, leaves ...string) (root cid.Cid, blocks []cid.Cid) {
	t.Helper()
	b := e.Begin(account, 0)
	defer b.Abort()
	var links []string
	for _, data := range leaves {
		c := rawCID(data)
		if err := b.Put(t.Context(), c, []byte(data)); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, c)
		links = append(links, fmt.Sprintf(`{"/":%q}`, c))
	}
	text := []byte("[" + strings.Join(links, ",") + "]")
	hash, err := multihash.Sum(text, multihash.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	root = cid.NewCidV1(cid.DagJSON, hash)
	if err := b.Put(t.Context(), root, text); err != nil {
		t.Fatal(err)
	}
	b.Pin(nodegate.Pin{CID: root.String(), Recursive: true, Size: 100})
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return root, append(blocks, root)
}

// Content comes to a node that was replaced by an empty one.
func TestRepairReplacedNode(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	r, stays, goes, comes := newRepairs(t), start(t), start(t), start(t)
	root, blocks := tree(t, r.engine(2, stays.endpoint, goes.endpoint), "a", "one leaf", "another leaf")
	e := r.engine(2, stays.endpoint, comes.endpoint)
	single := mustStore(t, r.engine(1, comes.endpoint), "b", "a single block")
	repair := r.repair(e)
	r.pass(repair, kubo.RepairReport{Checked: 2, RepairStat: kubo.RepairStat{Copied: 2}})
	for _, c := range []cid.Cid{root, single} {
		if !pinnedOn(t, comes.endpoint, c) || !pinnedOn(t, stays.endpoint, c) {
			t.Errorf("%s is not on both nodes", c)
		}
	}
	alone := r.engine(1, comes.endpoint)
	for _, c := range blocks {
		if _, err := alone.Get(t.Context(), c); err != nil {
			t.Errorf("a block is not on the new node: %v", err)
		}
	}
	r.pass(repair, kubo.RepairReport{Checked: 2})
	if s := repair.Stats(); s != (kubo.RepairStat{Copied: 2}) {
		t.Errorf("counted: %+v", s)
	}
	mustCollect(t, e) // the claims of the repair are over, and the owners' pins are not
	if !pinnedOn(t, comes.endpoint, root) || e.Stored("storage.repair") != 0 {
		t.Error("a collection undoes the repair, or somebody pays for it")
	}
}

// A node that is away counts as a copy for an interval. Then another node gets one.
func TestRepairAwayNode(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	r, stays, goes, third := newRepairs(t), start(t), start(t), start(t)
	id := mustStore(t, r.engine(2, stays.endpoint, goes.endpoint), "a", "on two of three")
	e := r.engine(2, stays.endpoint, goes.endpoint, third.endpoint)
	if err := goes.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is out of use", func() error {
		if e.Stats()[1].Up {
			return fmt.Errorf("it is up")
		}
		return nil
	})
	r.pass(r.repair(e), kubo.RepairReport{Checked: 1})
	if pinnedOn(t, third.endpoint, id) {
		t.Error("a short absence copies content")
	}
	r.pass(r.repair(e), kubo.RepairReport{Checked: 1, RepairStat: kubo.RepairStat{Copied: 1}})
	if !pinnedOn(t, third.endpoint, id) {
		t.Error("a long absence does not")
	}
}

// What no node has is counted, and its pins stay until it is added again.
func TestRepairMissing(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	r, empty := newRepairs(t), start(t)
	old := start(t)
	lost, _ := tree(t, r.engine(1, old.endpoint), "a", "lost one", "lost two")
	e := r.engine(1, empty.endpoint)
	repair := r.repair(e)
	r.pass(repair, kubo.RepairReport{Checked: 1, RepairStat: kubo.RepairStat{Missing: 1}})
	if s := repair.Stats(); s.Missing != 1 {
		t.Errorf("counted: %+v", s)
	}
	if list := pinsOf(t, e, "a"); len(list) != 1 || list[0] != lost.String() {
		t.Errorf("the pins: %v", list)
	}
	tree(t, e, "b", "lost one", "lost two")
	r.pass(repair, kubo.RepairReport{Checked: 1})
	if s := repair.Stats(); s.Missing != 0 {
		t.Errorf("counted after it was added again: %+v", s)
	}
}

// A node that can't take a copy is tried again by the next pass.
func TestRepairFails(t *testing.T) {
	t.Parallel()
	r, good, bad := newRepairs(t), start(t), newRogue(t)
	mustStore(t, r.engine(1, good.endpoint), "a", "for a full node, "+t.TempDir()) // other runs leave theirs on the shared node
	bad.on("dag/import", says(507, "text/plain", "insufficient storage"))
	repair := r.repair(r.engine(2, good.endpoint, bad.endpoint))
	r.pass(repair, kubo.RepairReport{Checked: 1, RepairStat: kubo.RepairStat{Failed: 1}})
	bad.on("dag/import", nil)
	r.pass(repair, kubo.RepairReport{Checked: 1, RepairStat: kubo.RepairStat{Copied: 1}})
	if s := repair.Stats(); s != (kubo.RepairStat{Copied: 1, Failed: 1}) {
		t.Errorf("counted: %+v", s)
	}
}

// Content whose owner unpins it while it is copied goes with a collection after that,
// on all nodes. A collection during the copy leaves it.
func TestRepairOwnerLeaves(t *testing.T) {
	t.Parallel()
	r, good, slow := newRepairs(t), start(t), newRogue(t)
	id := mustStore(t, r.engine(1, good.endpoint), "a", "unpinned while it is copied")
	e := r.engine(2, good.endpoint, slow.endpoint)
	entered, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow.on("pin/add", func(w http.ResponseWriter, req *http.Request) {
		close(entered)
		<-goOn
		_, text := ask(t, shared(t), "pin/add", req.URL.Query())
		_, _ = io.WriteString(w, text)
	})
	go func() {
		defer close(ended)
		r.pass(r.repair(e), kubo.RepairReport{Checked: 1, RepairStat: kubo.RepairStat{Copied: 1}})
	}()
	<-entered
	mustUnpin(t, e, "a", id.String())
	r.clock.Advance(2 * time.Minute)
	mustCollect(t, e)
	if !pinnedOn(t, good.endpoint, id) || e.Stored("a") != 0 {
		t.Error("content is removed while it is copied")
	}
	close(goOn)
	<-ended
	mustCollect(t, e)
	if pinnedOn(t, good.endpoint, id) || pinnedOn(t, shared(t), id) {
		t.Error("content stays pinned that nobody needs")
	}
}

// Of several servers one makes a pass, and then none for an interval. One that stops in
// the middle leaves the rest to the others at once.
func TestRepairOneServer(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	e := r.engine(1, shared(t))
	mustStore(t, e, "a", "looked at by one")
	first, second := r.repair(e), r.repair(e)
	refused := func(of *kubo.Repair) {
		t.Helper()
		if got, err := of.Pass(t.Context()); err != nil || got.Ran {
			t.Errorf("a second pass: %+v, %v", got, err)
		}
	}
	if got, err := first.Pass(t.Context()); err != nil || !got.Ran {
		t.Errorf("the first pass: %+v, %v", got, err)
	}
	refused(second)
	r.clock.Advance(repairEvery)
	r.pass(second, kubo.RepairReport{Checked: 1})
	stopped, stop := context.WithCancel(t.Context())
	node := newRogue(t)
	node.on("pin/ls", func(http.ResponseWriter, *http.Request) {
		refused(second)
		stop()
	})
	if _, err := r.repair(r.engine(1, node.endpoint)).Pass(stopped); err == nil {
		t.Error("a pass that was stopped ends well")
	}
	r.pass(second, kubo.RepairReport{Checked: 1})
}
