package chain

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
)

func headOf(t testing.TB, n *Node) nodegate.Head {
	t.Helper()
	h, err := n.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Head says what the tags say, and the fork changes when blocks are taken back and
// never else.
func TestHeadTellsForks(t *testing.T) {
	n := openDevnet(t)
	check := func(fork uint64) {
		t.Helper()
		g, h := tagsOf(t, n), headOf(t, n)
		if g != (tags{h.Number, h.Safe, h.Finalized}) || h.Fork != fork || h.GasLimit == 0 {
			t.Fatalf("%+v, the tags are %+v, the fork should be %d", h, g, fork)
		}
	}
	check(1)
	snapshot := call(t, n, "evm_snapshot", "[]")
	for range 3 {
		call(t, n, "evm_mine", "[]")
		check(1)
	}
	call(t, n, "evm_revert", "["+snapshot+"]")
	check(2)
	call(t, n, "evm_mine", `[]`) // another block of the same number
	check(2)
	snapshot = call(t, n, "evm_snapshot", "[]")
	call(t, n, "evm_revert", "["+snapshot+"]") // to where it is
	check(2)
	mineThrough(t, n, tagsOf(t, n), 22)
	check(2)
	if h := headOf(t, n); h.Finalized != 32 {
		t.Errorf("finalized is %d", h.Finalized)
	}
}

// Once a final block was taken back, nothing is called final: who kept answers for good
// must not find the same number final again and believe them.
func TestHeadAfterFinalIsLost(t *testing.T) {
	n := openDevnet(t)
	snapshot := call(t, n, "evm_snapshot", "[]")
	mineThrough(t, n, tagsOf(t, n), 22)
	call(t, n, "evm_revert", "["+snapshot+"]")
	mineThrough(t, n, tagsOf(t, n), 22)
	if h := headOf(t, n); h.Finalized != 0 || h.Number != 32 || h.Fork != 2 || h.Lost != 1 {
		t.Errorf("%+v", h)
	}
}

// A block that any answer speaks of is in Head already, while blocks are produced.
func TestHeadIsNeverBehindAnAnswer(t *testing.T) {
	n := openDevnet(t)
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !stop.Load() && !t.Failed() {
				text, err := n.Call(context.Background(), "eth_blockNumber", nil)
				if err != nil {
					t.Error(err)
					return
				}
				seen, err := strconv.ParseUint(strings.Trim(string(text), `"`), 0, 64)
				if h := headOf(t, n); err != nil || h.Number < seen {
					t.Errorf("told of block %s, the head is %d (%v)", text, h.Number, err)
				}
			}
		})
	}
	for range 60 {
		call(t, n, "evm_mine", "[]")
	}
	stop.Store(true)
	readers.Wait()
	if h := headOf(t, n); h.Number != 70 || h.Fork != 1 {
		t.Errorf("%+v", h)
	}
}
