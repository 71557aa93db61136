// Package example finds parameters that work on a network right now: an existing
// transaction, a contract that responds. The dashboard offers them, so that a new user's
// first request succeeds on any chain.
package example

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

const (
	// depth is how many blocks are searched for a transaction.
	depth = 32
	// searchTime bounds the search; what was not found is left out of the examples.
	searchTime = 3 * time.Second
	// fresh is how long examples are good: old ones still work, newer ones are nicer.
	fresh = time.Minute
)

// Example is a method with parameters, one JSON array.
type Example struct {
	Method string
	Params string
}

// Examples finds and remembers the examples of networks.
type Examples struct {
	mu    sync.Mutex
	known map[string]found
}

type found struct {
	at   time.Time
	list []Example
}

// New remembers nothing yet.
func New() *Examples { return &Examples{known: map[string]found{}} }

// Of returns the examples of a network, in the order in which methods are shown.
func (e *Examples) Of(ctx context.Context, n nodegate.Network) []Example {
	e.mu.Lock()
	known, ok := e.known[n.Name]
	e.mu.Unlock()
	if ok && time.Since(known.at) < fresh {
		return known.list
	}
	// Others are shown what is found, so the search goes on when its visitor leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searchTime)
	defer cancel()
	list := search(ctx, n.Node).examples(n.Alias)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known[n.Name] = found{at: time.Now(), list: list}
	return list
}

// sight is what was seen on a chain.
type sight struct {
	rollup          bool
	transaction     string // its hash
	block           string // hash of its block
	index           string
	from, to, input string
	storage         string // a contract's address
	call            string // an object for eth_call that doesn't revert now
}

// transaction is what is read of one.
type transaction struct {
	Hash, BlockHash, TransactionIndex, From, To, Input string
}

// search walks down from the newest block to the first transaction, preferring one that
// calls a contract.
func search(ctx context.Context, node nodegate.Node) *sight {
	s := &sight{}
	if _, err := node.Call(ctx, method.Layer2EstimateGas, []byte(`[{}]`)); err == nil {
		s.rollup = true
	}
	head, err := node.Head(ctx)
	if err != nil {
		return s
	}
	for number, i := head.Number, 0; i < depth && !s.calls(); number, i = number-1, i+1 {
		for _, t := range transactions(ctx, node, number) {
			s.see(t)
		}
		if number == 0 {
			break
		}
	}
	s.tryCall(ctx, node)
	return s
}

// tryCall sees whether what was once a transaction still works as a call.
func (s *sight) tryCall(ctx context.Context, node nodegate.Node) {
	if !s.calls() {
		return
	}
	call := `{"from":"` + s.from + `","to":"` + s.storage + `","data":"` + s.input + `"}`
	if _, err := node.Call(ctx, method.EthCall, []byte(`[`+call+`,"latest"]`)); err == nil {
		s.call = call
	}
}

// nobody is an address that works as any other.
const nobody = "0x0000000000000000000000000000000000000001"

func transactions(ctx context.Context, node nodegate.Node, number uint64) []transaction {
	result, err := node.Call(ctx, method.EthGetBlockByNumber, fmt.Appendf(nil, `["0x%x",true]`, number))
	var block struct{ Transactions []transaction }
	if err != nil || json.Unmarshal(result, &block) != nil {
		return nil
	}
	return block.Transactions
}

// see takes a transaction over when it is better than what was seen.
func (s *sight) see(t transaction) {
	if !hexText(t.Hash, 32) || !hexText(t.BlockHash, 32) || !hexText(t.From, 20) || s.calls() {
		return
	}
	calls := hexText(t.To, 20) && len(t.Input) >= len("0x12345678") && hexText(t.Input, -1)
	if s.transaction != "" && !calls {
		return
	}
	s.transaction, s.block, s.index, s.from, s.to = t.Hash, t.BlockHash, "0x0", t.From, nobody
	if n, err := strconv.ParseUint(strings.TrimPrefix(t.TransactionIndex, "0x"), 16, 32); err == nil {
		s.index = fmt.Sprintf("0x%x", n)
	}
	if hexText(t.To, 20) {
		s.to = t.To
	}
	if calls && len(t.Input) <= 1024 {
		s.input, s.storage = t.Input, t.To
	}
}

// calls tells whether a call of a contract was seen.
func (s *sight) calls() bool { return s.storage != "" }

// hexText tells whether a node's text is hex of a size; -1 is any.
func hexText(s string, size int) bool {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || size >= 0 && len(digits) != 2*size {
		return false
	}
	return strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

// examples writes the parameters down.
func (s *sight) examples(alias string) []Example {
	address, contract := s.to, s.storage
	if address == "" {
		address = nobody
	}
	if contract == "" {
		contract = address
	}
	call := s.call
	if call == "" {
		call = `{"from":"` + nobody + `","to":"` + nobody + `"}` // sends nothing and never reverts
	}
	fill := strings.NewReplacer("$address", address, "$contract", contract, "$transaction", s.transaction, "$block", s.block, "$index", s.index, "$call", call)
	var list []Example
	for _, row := range offered() {
		if row.Layer2() && !s.rollup || s.transaction == "" && needsTransaction(row) {
			continue
		}
		e := Example{row.Name, fill.Replace(row.Try.Params)}
		list = append(list, e)
		if also := row.Alias(alias); also != "" {
			list = append(list, Example{also, e.Params})
		}
	}
	return list
}

// offered are the methods to try, in their order.
func offered() []*method.Row {
	list := slices.DeleteFunc(method.All(), func(r *method.Row) bool { return r.Try.Order == 0 })
	slices.SortFunc(list, func(a, b *method.Row) int { return a.Try.Order - b.Try.Order })
	return list
}

// needsTransaction tells whether a method's parameters name a transaction.
func needsTransaction(r *method.Row) bool {
	return strings.Contains(r.Try.Params, "$transaction") || strings.Contains(r.Try.Params, "$block")
}
