package filter

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// ledger is a chain that several nodes share. A block has as many logs as its salt says.
type ledger struct {
	mu    sync.Mutex
	chain []testBlock
	known map[string]testBlock // those of old branches too
}

type testBlock struct {
	number       uint64
	hash, parent string
	logs         int
}

func newLedger() *ledger {
	l := &ledger{known: map[string]testBlock{}}
	l.grow(1)
	return l
}

// grow adds a block.
func (l *ledger) grow(logs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := testBlock{number: uint64(len(l.chain)), logs: logs, parent: fmt.Sprintf("0x%064x", 0)}
	if n := len(l.chain); n > 0 {
		b.parent = l.chain[n-1].hash
	}
	b.hash = fmt.Sprintf("0x%064x", len(l.known)+1)
	l.chain, l.known[b.hash] = append(l.chain, b), b
}

// drop takes blocks off the chain.
func (l *ledger) drop(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chain = l.chain[:max(1, len(l.chain)-n)]
}

// server is a node of that chain, which may be behind.
type server struct {
	*ledger
	behind  atomic.Int64
	pending chan nodegate.Take // who subscribed to pending transactions
}

func (s *server) Head(context.Context) (nodegate.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return nodegate.Head{Number: uint64(max(0, len(s.chain)-1-int(s.behind.Load())))}, nil
}

func (s *server) Subscribe(_ context.Context, _ []byte, take nodegate.Take) error {
	s.pending <- take
	return nil
}

func (s *server) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []any
	if err := json.Unmarshal(params, &list); err != nil {
		return nil, err
	}
	switch name {
	case method.EthGetBlockByNumber:
		n := quantity(list[0])
		if n >= uint64(len(s.chain)) {
			return []byte("null"), nil
		}
		return s.chain[n].json(), nil
	case method.EthGetBlockByHash:
		if b, ok := s.known[list[0].(string)]; ok {
			return b.json(), nil
		}
		return []byte("null"), nil
	case method.EthGetLogs:
		return s.logs(list[0].(map[string]any))
	case method.EthGetTransactionByHash:
		return fmt.Appendf(nil, `{"hash":"%s"}`, list[0]), nil
	}
	return nil, &nodegate.Error{Code: nodegate.MethodNotFound, Msg: name}
}

func quantity(v any) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(v.(string), "0x"), 16, 64)
	return n
}

func (b testBlock) json() []byte {
	return fmt.Appendf(nil, `{"number":"0x%x","hash":"%s","parentHash":"%s"}`, b.number, b.hash, b.parent)
}

func (b testBlock) log(i int) string {
	return fmt.Sprintf(`{"blockHash":"%s","blockNumber":"0x%x","logIndex":"0x%x","removed":false}`, b.hash, b.number, i)
}

// logs answers eth_getLogs. An address of "0xbad" is none.
func (s *server) logs(query map[string]any) ([]byte, error) {
	if query["address"] == "0xbad" {
		return nil, &nodegate.Error{Code: nodegate.InvalidParams, Msg: "invalid argument 0: hex string has length 3"}
	}
	var found []string
	add := func(b testBlock) {
		for i := range b.logs {
			found = append(found, b.log(i))
		}
	}
	if hash, ok := query["blockHash"]; ok {
		add(s.known[hash.(string)])
	} else {
		for n := quantity(query["fromBlock"]); n <= quantity(query["toBlock"]) && n < uint64(len(s.chain)); n++ {
			add(s.chain[n])
		}
	}
	return []byte("[" + strings.Join(found, ",") + "]"), nil
}
