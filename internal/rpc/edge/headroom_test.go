package edge

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// TestHeadRoom: the longest head that an answer can have fits the room before it, with some
// to spare for the next header.
func TestHeadRoom(t *testing.T) {
	e := &Edge{}
	single := &exchange{took: math.MaxInt64, traces: []nodegate.Trace{{
		Node: strings.Repeat("n", 500), Cache: nodegate.CacheLedger, Reason: strings.Repeat("r", 500), Waited: math.MaxInt64,
		Verified: nodegate.LevelRoots, Agreed: math.MaxInt64, HeadAge: math.MaxInt64,
	}}}
	batch := &exchange{took: time.Duration(math.MaxInt64), scan: jsonrpc.Body{Batch: true}}
	for o := range nodegate.CacheOutcomes {
		for range 10_000 {
			batch.traces = append(batch.traces, nodegate.Trace{Cache: nodegate.CacheOutcome(o), Verified: nodegate.Level(1 + o%(nodegate.Levels-1)), HeadAge: math.MaxInt64})
		}
	}
	for name, x := range map[string]*exchange{"single": single, "batch": batch} {
		head := e.plainHead(nil, headOf{
			id: strings.Repeat("i", 32), status: http.StatusRequestHeaderFieldsTooLarge, length: math.MaxInt64, retry: "1000000", told: x, compressed: true, origin: true,
		})
		if len(head) > headRoom-64 {
			t.Errorf("%s: a head of %d bytes, in a room of %d", name, len(head), headRoom)
		}
		if !strings.Contains(string(head), "X-Verified: roots") {
			t.Errorf("%s: the head lacks a header: %s", name, head)
		}
		t.Logf("%s: %d bytes", name, len(head))
	}
}
