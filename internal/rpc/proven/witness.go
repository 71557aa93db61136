package proven

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// witness is what is known of the state of a block while a call is executed over it, and what
// the call asked for that isn't.
type witness struct {
	n        *Node
	h        *header
	accounts map[[20]byte]verify.Account
	slots    map[place][32]byte
	codes    map[[32]byte][]byte
	fetched  int64                          // bytes that nodes sent for it, about
	read     map[[20]byte]map[[32]byte]bool // what the call read: slots by account

	// Of the last run:
	wanted map[[20]byte]*request
	extra  map[[20]byte]bool // which of it the call itself has not asked for
	misses int               // how much of it there is
	stuck  error             // something that can't be known
}

// place is a slot of an account.
type place struct {
	address [20]byte
	slot    [32]byte
}

// The most that is proven for one call, and that a run asks for before it ends.
const (
	maxReadAccounts = 4 * maxAccounts
	maxReadSlots    = 2 * maxSlots
	maxMisses       = 32
)

func newWitness(n *Node, h *header) *witness {
	return &witness{n: n, h: h, accounts: map[[20]byte]verify.Account{}, slots: map[place][32]byte{}, codes: map[[32]byte][]byte{}, read: map[[20]byte]map[[32]byte]bool{}}
}

// begin begins a run.
func (s *witness) begin() {
	s.wanted, s.extra, s.misses, s.stuck = map[[20]byte]*request{}, map[[20]byte]bool{}, 0, nil
}

func (s *witness) reads() native.Reads {
	return native.Reads{Account: s.account, Slot: s.slot, Code: s.code, Hash: s.hash, More: func() bool { return s.misses < maxMisses }}
}

// want notes an account that isn't known, or a part of one.
func (s *witness) want(address [20]byte) *request {
	r := s.wanted[address]
	if r == nil {
		r = &request{address: address}
		s.wanted[address] = r
		s.misses++
	}
	return r
}

func (s *witness) find(address [20]byte) (a verify.Account, known bool) {
	if a, known = s.accounts[address]; known {
		return a, true
	}
	if a, known = s.n.store.account(s.h.StateRoot, address); known {
		s.accounts[address] = a
	}
	return a, known
}

func (s *witness) account(address [20]byte) (native.Account, bool) {
	a, known := s.find(address)
	if !known {
		s.want(address)
		return native.Account{}, false
	}
	if s.read[address] == nil {
		s.read[address] = map[[32]byte]bool{}
	}
	exists := a.Nonce != 0 || a.Balance != [32]byte{} || a.Code != verify.NoCode || a.Storage != verify.NoStorage
	return native.Account{Nonce: a.Nonce, Balance: a.Balance, Code: a.Code, Storage: a.Storage, Exists: exists}, true
}

func (s *witness) slot(address [20]byte, slot [32]byte) (value [32]byte, known bool) {
	if value, known = s.look(address, slot); known && s.read[address] != nil {
		s.read[address][slot] = true
	}
	return value, known
}

// look finds a slot, or notes that it is wanted.
func (s *witness) look(address [20]byte, slot [32]byte) (value [32]byte, known bool) {
	at := place{address, slot}
	if value, known = s.slots[at]; known {
		return value, true
	}
	if a, there := s.find(address); there {
		if value, known = s.n.store.slot(a.Storage, slot); known {
			s.slots[at] = value
			return value, true
		}
	}
	r := s.want(address)
	if !slices.Contains(r.slots, slot) {
		r.slots = append(r.slots, slot)
		s.misses++
	}
	return value, false
}

func (s *witness) code(address [20]byte, hash [32]byte) ([]byte, bool) {
	if code, known := s.codes[hash]; known {
		return code, true
	}
	if code := s.n.store.bytes(key{kind: ofCode, root: hash}); code != nil {
		s.codes[hash] = code
		return code, true
	}
	s.want(address)
	return nil, false
}

// history is the contract that keeps the hashes of blocks (EIP-2935), and how many.
var history = [20]byte{0x00, 0x00, 0xf9, 0x08, 0x27, 0xf1, 0xc5, 0x3a, 0x10, 0xcb, 0x7a, 0x02, 0x33, 0x5b, 0x17, 0x53, 0x20, 0x00, 0x29, 0x35}

const historyBlocks = 8191

// hash is the hash of an earlier block, as the state has it.
func (s *witness) hash(number uint64) ([32]byte, bool) {
	if number+historyBlocks < s.h.Number {
		s.stuck = errAncestor
		return [32]byte{}, false
	}
	var slot [32]byte
	at := number % historyBlocks
	slot[30], slot[31] = byte(at>>8), byte(at)
	if _, known := s.account(history); !known { // so that it is among what the call read
		s.look(history, slot)
		return [32]byte{}, false
	}
	value, known := s.slot(history, slot)
	if known && value == [32]byte{} {
		s.stuck = errAncestor
		return value, false
	}
	return value, known
}

// expect adds what a call probably reads to what is wanted.
func (s *witness) expect(list []request) {
	for _, e := range list {
		s.extra[e.address] = s.wanted[e.address] == nil
		if _, known := s.find(e.address); !known {
			s.want(e.address)
		}
		for _, slot := range e.slots {
			s.look(e.address, slot)
		}
	}
}

// touched is all that the call read. What a node only said that it would is not in it.
func (s *witness) touched() []request {
	list := make([]request, 0, len(s.read))
	for address, slots := range s.read {
		list = append(list, request{address: address, slots: slices.Collect(maps.Keys(slots))})
	}
	return list
}

// maxSlotsAtOnce is how many slots are proven with one call to a node.
const maxSlotsAtOnce = 256

// wantsTooMuch tells whether the call reads more than is proven for one.
func (s *witness) wantsTooMuch() bool {
	slots := len(s.slots)
	for _, r := range s.wanted {
		slots += len(r.slots)
	}
	return len(s.wanted)+len(s.accounts) > maxReadAccounts || slots > maxReadSlots
}

// requests are the calls to nodes for what is wanted.
func (s *witness) requests() (list []*request) {
	for _, r := range s.wanted {
		for len(r.slots) > maxSlotsAtOnce {
			list = append(list, &request{address: r.address, slots: r.slots[:maxSlotsAtOnce]})
			r = &request{address: r.address, slots: r.slots[maxSlotsAtOnce:]}
		}
		list = append(list, r)
	}
	return list
}

// fetch asks the nodes for what is wanted, all at once.
func (s *witness) fetch(ctx context.Context, w *work) error {
	list := s.requests()
	if err := w.pay(ctx, len(list)); err != nil {
		return err
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed error
	places := make(chan struct{}, atOnce)
	for _, r := range list {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			f, code, err := s.fetchOne(ctx, r, w)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				s.learn(r, &f, code)
			case !s.extra[r.address]: // else it may not even be needed
				failed = err
			}
		})
	}
	running.Wait()
	if failed != nil {
		return failed
	}
	return s.hold(ctx)
}

// wordBytes is what an entry of the witness takes, about.
const wordBytes = 128

// hold counts what was fetched toward the memory of the caller's account.
func (s *witness) hold(ctx context.Context) error {
	bytes := s.fetched
	s.fetched = 0
	if reserve := nodegate.TraceFrom(ctx).Hold; reserve != nil && bytes > 0 {
		return reserve(bytes)
	}
	return nil
}

// fetchOne proves an account and what is wanted of it. Who calls an account needs its code.
func (s *witness) fetchOne(ctx context.Context, r *request, w *work) (f facts, code []byte, err error) {
	b := &block{by: byHash}
	if f, err = s.n.prove(ctx, s.h, b, r, w); err == nil {
		code, err = s.n.code(ctx, s.h, b, r, f.account.Code, w)
	}
	return f, code, err
}

func (s *witness) learn(r *request, f *facts, code []byte) {
	s.accounts[r.address] = f.account
	s.codes[f.account.Code] = code
	s.fetched += int64(len(code)) + wordBytes*int64(1+len(r.slots))
	for i, slot := range r.slots {
		s.slots[place{r.address, slot}] = f.slots[i]
	}
}
