package chain

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
)

// The bounds of subscriptions. A different filter is matched against every log, so one
// account gets a part of them only.
const (
	maxStreams           = 4096 // different subscriptions of a network
	maxStreamsPerAccount = 256
	maxSubscribeBytes    = 64 << 10 // of the parameters
	largeSubscribe       = 8 << 10  // from here on reading them takes as long as many small calls

	longestRest = 10 * time.Millisecond // after reading large parameters
)

// feeds are the chain's subscriptions. go-ethereum encodes an event for each of its own
// subscriptions, so there is one of those for each kind however many readers it has: an
// event is encoded once and shared. Logs come from the chain itself: go-ethereum's API would
// encode each of them, and end everybody's subscription when a block has more than 20,000.
type feeds struct {
	await  func() error // returns when what was announced is on disk
	client *rpc.Client
	chain  *core.BlockChain
	// correct shows the true senders in an event.
	correct func(event []byte) []byte

	opening sync.Mutex // of go-ethereum's subscriptions, one at a time
	large   sync.Mutex // large filters are read one at a time

	mu      sync.Mutex
	sources map[string]*source
	streams map[string]*stream
	held    map[string]int // streams that an account reads
	closed  bool           // the node ends, and its sources with it
	running sync.WaitGroup
}

// source is one of go-ethereum's subscriptions.
type source struct {
	key     string
	sub     event.Subscription
	events  chan json.RawMessage
	logs    *logQueue            // instead of events: the source of logs
	stop    chan struct{}        // closed when nobody reads it any more
	step    uint64               // counts the events that came
	streams map[*stream]struct{} // that it feeds
}

// stream is what readers with the same parameters read.
type stream struct {
	key      string
	source   *source
	filter   *logFilter // nil: every event
	readers  map[*reader]struct{}
	accounts map[string]int // readers of each account
}

// reader is one subscription of a client.
type reader struct {
	take    nodegate.Take
	from    uint64 // the step of the source after which it began
	account string
}

func newFeeds(client *rpc.Client, chain *core.BlockChain, await func() error) *feeds {
	return &feeds{client: client, chain: chain, await: await, sources: map[string]*source{}, streams: map[string]*stream{}, held: map[string]int{}}
}

// Subscribe starts one of go-ethereum's subscriptions: newHeads, logs,
// newPendingTransactions, transactionReceipts or syncing. See nodegate.Feed.
//
// Returns AccountBusy when the account reads too many different ones, and Busy when
// all accounts together do.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	args, err := rawArgs(params)
	if err != nil {
		return err
	}
	if len(params) > maxSubscribeBytes {
		return &nodegate.Error{Op: "chain.subscribe", Code: nodegate.InvalidParams, Msg: "invalid argument 1: the filter is too large: at most 64 KiB"}
	}
	r := &reader{take: take, account: nodegate.GrantFrom(ctx).AccountID}
	key, err := n.feeds.join(ctx, n.feeds.read(args, len(params)), r)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { n.feeds.leave(key, r) })
	return nil
}

// read is subjectOf. Large filters cost as little as any, so they may take half of a core, all
// together: after each of them the next waits as long as it took.
func (f *feeds) read(args []any, size int) subject {
	if size < largeSubscribe {
		return subjectOf(args)
	}
	f.large.Lock()
	start := time.Now()
	defer func() { time.AfterFunc(min(time.Since(start), longestRest), f.large.Unlock) }()
	return subjectOf(args)
}

// join adds a reader to its stream, which may begin with it.
func (f *feeds) join(ctx context.Context, s subject, r *reader) (key string, err error) {
	if joined, err := f.add(s.key, nil, r); joined || err != nil {
		return s.key, err
	}
	if err := f.full(r.account); err != nil {
		return "", err
	}
	if s.filter != nil { // before the lock: reading a large filter takes its time
		if s.filter.brief != nil {
			s.args = s.filter.brief
		}
		if err := f.check(ctx, s.args); err != nil {
			return "", err
		}
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	for joined := false; !joined && err == nil; { // until the source doesn't end meanwhile
		var src *source
		if src, err = f.open(ctx, s); err == nil {
			made := &stream{key: s.key, source: src, filter: s.filter, readers: map[*reader]struct{}{}, accounts: map[string]int{}}
			joined, err = f.add(s.key, made, r)
			f.tidy(src)
		}
	}
	return s.key, err
}

// add puts a reader into a stream: the one of this key, or a new one. It is false when
// there is no stream whose source goes on.
func (f *feeds) add(key string, made *stream, r *reader) (joined bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[key]
	if s == nil {
		s = made
	}
	if s == nil || f.sources[s.source.key] != s.source {
		return false, nil
	}
	if err := f.refuse(s, r.account); err != nil {
		return false, err
	}
	f.streams[key] = s
	s.source.streams[s] = struct{}{}
	if s.accounts[r.account]++; s.accounts[r.account] == 1 {
		f.held[r.account]++
	}
	s.readers[r], r.from = struct{}{}, s.source.step
	return true, nil
}

// refuse tells why an account can't read one more stream. The feeds are locked.
func (f *feeds) refuse(s *stream, account string) error {
	if s.accounts[account] > 0 {
		return nil
	}
	switch known := f.streams[s.key] == s; {
	case f.held[account] >= maxStreamsPerAccount:
		return &nodegate.Error{
			Op: "chain.subscribe", Code: nodegate.AccountBusy, RetryAfter: retryDelay,
			Msg: "too many different subscriptions of this account: end some, or use fewer filters",
		}
	case !known && len(f.streams) >= maxStreams:
		return &nodegate.Error{Op: "chain.subscribe", Code: nodegate.Busy, RetryAfter: retryDelay, Msg: "server busy: too many different subscriptions"}
	}
	return nil
}

// full is refuse for a stream that doesn't exist yet, before there is any work for it.
func (f *feeds) full(account string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refuse(new(stream), account)
}

// leave takes a reader out and ends what nobody needs any more.
func (f *feeds) leave(key string, r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[key]
	if s == nil {
		return
	}
	if _, in := s.readers[r]; !in {
		return
	}
	f.remove(s, r, nodegate.Closed)
}

// remove ends a reader. The feeds are locked.
func (f *feeds) remove(s *stream, r *reader, why nodegate.End) {
	delete(s.readers, r)
	if s.accounts[r.account]--; s.accounts[r.account] == 0 {
		delete(s.accounts, r.account)
		if f.held[r.account]--; f.held[r.account] == 0 {
			delete(f.held, r.account)
		}
	}
	r.take(nil, why)
	if len(s.readers) > 0 {
		return
	}
	delete(f.streams, s.key)
	delete(s.source.streams, s)
	f.release(s.source)
}

// release ends a source that feeds nobody. The feeds are locked.
func (f *feeds) release(src *source) {
	if len(src.streams) == 0 && f.sources[src.key] == src {
		delete(f.sources, src.key)
		close(src.stop)
	}
}

// tidy ends a source that was opened for a reader who was refused.
func (f *feeds) tidy(src *source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release(src)
}

// open finds the source of a subject or begins it. Whoever opens holds opening.
func (f *feeds) open(ctx context.Context, s subject) (*source, error) {
	f.mu.Lock()
	src := f.sources[s.source]
	f.mu.Unlock()
	if src != nil {
		return src, nil
	}
	src = &source{key: s.source, stop: make(chan struct{}), streams: map[*stream]struct{}{}}
	if err := f.begin(ctx, src, s.args); err != nil {
		return nil, subscribeError(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		src.sub.Unsubscribe()
		return nil, subscribeError(rpc.ErrClientQuit)
	}
	f.sources[src.key] = src
	if src.logs == nil {
		f.running.Go(func() { f.forward(src) })
		return src, nil
	}
	f.running.Go(func() { f.collect(src) })
	f.running.Go(func() { f.forwardLogs(src) })
	return src, nil
}

// begin subscribes a source to the chain.
func (f *feeds) begin(ctx context.Context, src *source, args []any) error {
	if src.key == logsSource {
		src.logs = newLogQueue()
		src.sub = src.logs.subscribe(f.chain)
		return nil
	}
	src.events = make(chan json.RawMessage)
	sub, err := f.client.EthSubscribe(ctx, src.events, args...)
	src.sub = sub
	return err
}

// check has go-ethereum look at the parameters of a log filter: what it refuses, and
// how, is its own.
func (f *feeds) check(ctx context.Context, args []any) error {
	sub, err := f.client.EthSubscribe(ctx, make(chan json.RawMessage), args...)
	if err != nil {
		return subscribeError(err)
	}
	sub.Unsubscribe()
	return nil
}
