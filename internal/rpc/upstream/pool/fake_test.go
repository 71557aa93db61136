package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// fake is a node of a made-up chain, in process, so that synctest can hold the clock.
type fake struct {
	name string

	mu     sync.Mutex
	chain  []heads.Header // by number
	id     uint64
	answer func(ctx context.Context, method string, params []byte) ([]byte, error) // before the chain's own; nil, nil: not mine
	down   bool
	calls  map[string]int
	feeds  []chan []byte
}

// blockHash names a block of a branch.
func blockHash(branch string, number uint64) string {
	return fmt.Sprintf(`"0x%s%062x"`, branch, number)
}

const genesisBranch = "aa"

// newFake is a node whose chain has a head.
func newFake(name string, head uint64) *fake {
	f := &fake{name: name, id: 1, calls: map[string]int{}}
	f.chain = []heads.Header{makeBlock(genesisBranch, 0, blockHash("00", 0))}
	f.grow(genesisBranch, head)
	return f
}

// grow adds blocks of a branch up to a number.
func (f *fake) grow(branch string, to uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := uint64(len(f.chain)); n <= to; n++ {
		f.chain = append(f.chain, makeBlock(branch, n, f.chain[n-1].Hash))
	}
	f.announce()
}

// reorg replaces the blocks from a number on by those of another branch.
func (f *fake) reorg(branch string, from, to uint64) {
	f.mu.Lock()
	f.chain = f.chain[:from]
	f.mu.Unlock()
	f.grow(branch, to)
}

// announce tells sockets of the newest block. The fake is locked.
func (f *fake) announce() {
	for _, c := range f.feeds {
		c <- f.chain[len(f.chain)-1].Raw
	}
}

// chainStart is when the made-up chain began; it has a block each second.
const chainStart = 946684800 - 100_000 // synctest's clock begins at the year 2000

func makeBlock(branch string, n uint64, parent string) heads.Header {
	raw := fmt.Sprintf(`{"number":"0x%x","hash":%s,"parentHash":%s,"timestamp":"0x%x","gasLimit":"0x1c9c380","size":"0x1","transactions":[]}`,
		n, blockHash(branch, n), parent, chainStart+n)
	h, ok := heads.Read([]byte(raw))
	if !ok {
		panic(raw)
	}
	return h
}

func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

var errRefused = errors.New("connection refused")

func (f *fake) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	f.mu.Lock()
	f.calls[method]++
	down, answer := f.down, f.answer
	f.mu.Unlock()
	if down {
		return nil, &client.Fault{Err: errRefused}
	}
	if answer != nil {
		if result, err := answer(ctx, method, params); result != nil || err != nil {
			return result, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.own(method, params), nil
}

// own answers from the chain. The fake is locked.
func (f *fake) own(method string, params []byte) []byte {
	switch method {
	case "eth_chainId":
		return fmt.Appendf(nil, `"0x%x"`, f.id)
	case "eth_syncing":
		return []byte("false")
	case "web3_clientVersion":
		return []byte(`"fake/1"`)
	case "eth_getBalance":
		return []byte(`"0x1"`)
	case "eth_getLogs":
		return []byte("[]")
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		list, _ := jsonrpc.Elements(nil, params)
		return f.block(list[0])
	}
	return []byte("null")
}

func (f *fake) block(which []byte) []byte {
	head := uint64(len(f.chain) - 1)
	number := head
	switch string(which) {
	case `"latest"`:
	case `"safe"`, `"finalized"`:
		number = head - min(head, 10)
	default:
		if hexjson.IsHash(which) {
			for _, h := range f.chain {
				if h.Hash == string(which) {
					return h.Raw
				}
			}
			return []byte("null")
		}
		number, _ = hexjson.Quantity(which)
	}
	if number > head {
		return []byte("null")
	}
	return f.chain[number].Raw
}

func (f *fake) CallSafe(ctx context.Context, method string, params []byte) ([]byte, error) {
	return f.Call(ctx, method, params)
}

func (f *fake) Close() {}

// Subscribe makes a fake also a socket.
func (f *fake) Subscribe(ctx context.Context, _ []byte) (*client.Subscription, error) {
	c := make(chan []byte, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, &client.Fault{Err: errRefused}
	}
	f.feeds = append(f.feeds, c)
	context.AfterFunc(ctx, func() { f.hangUp(c) })
	return &client.Subscription{C: c}, nil
}

// hangUp ends one subscription, or all.
func (f *fake) hangUp(only chan []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var left []chan []byte
	for _, c := range f.feeds {
		if only == nil || c == only {
			close(c)
		} else {
			left = append(left, c)
		}
	}
	f.feeds = left
}

// openFakes starts a pool over fakes; a name that ends in "!" is a backup, one that
// begins with "ws" has a socket.
func openFakes(t testing.TB, change func(*Config), fakes ...*fake) (*Pool, *syncBuffer) {
	byName := map[string]*fake{}
	logs := &syncBuffer{}
	cfg := Config{Network: "net", Log: slog.New(slog.NewTextHandler(logs, nil))}
	for _, f := range fakes {
		byName[f.name] = f
		n := Node{Name: f.name, URL: "http://" + f.name + "/secret-path", Backup: strings.HasSuffix(f.name, "!")}
		if strings.HasPrefix(f.name, "ws") {
			n.WS = "ws://" + f.name + "/secret-path"
		}
		cfg.Nodes = append(cfg.Nodes, n)
	}
	if change != nil {
		change(&cfg)
	}
	p := open(cfg.withDefaults(), dialer{
		client: func(n Node) (caller, error) { return byName[n.Name], nil },
		socket: func(_ context.Context, n Node) (socket, error) {
			f := byName[n.Name]
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.down {
				return nil, &client.Fault{Err: errRefused}
			}
			return f, nil
		},
	})
	t.Cleanup(p.Close)
	return p, logs
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// bubble runs a test with a clock of its own, and gives the pool time to look at
// its nodes.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func settle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}
