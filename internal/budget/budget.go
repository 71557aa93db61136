package budget

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// retryAfter is when a refused client should try again. Memory comes back as soon as
// answers are read, so it is short.
const retryAfter = time.Second

// Config are the bounds of a Budget.
type Config struct {
	Process  int64           // bytes of all requests together
	Account  int64           // bytes of one account's requests; 0 is no share of its own
	Pressure func(high bool) // called when much is reserved and when no longer; may be nil
}

// Much is reserved from a quarter of the budget, and no longer below an eighth: the
// distance keeps one large request from calling Pressure all the time.
const (
	muchPart   = 4
	littlePart = 8
)

// Budget counts the bytes that requests have reserved. It is safe for concurrent use.
type Budget struct {
	cfg Config

	mu       sync.Mutex
	reserved int64
	highest  int64
	accounts map[string]*account // only accounts that have something reserved
	refused  Refusals

	waiting atomic.Int64 // when the last account may come back that was refused, in Unix nanoseconds

	pressure sync.Mutex // orders the calls of Pressure
	pressed  bool
}

// account is what one account has reserved.
type account struct {
	bytes int64
	until int64 // when it may come back after a refusal, in Unix nanoseconds
}

// Refusals count the reservations that were refused.
type Refusals struct {
	Account int64 // the account was over its share
	Process int64 // the process was over its limit
}

// Usage is what is reserved at one moment.
type Usage struct {
	Reserved, Highest, Limit int64
	Accounts                 int // that have something reserved
	Refused                  Refusals
}

// New builds a budget with nothing reserved.
func New(cfg Config) *Budget {
	return &Budget{cfg: cfg, accounts: map[string]*account{}}
}

// Usage reports what is reserved now.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Reserved: b.reserved, Highest: b.highest, Limit: b.cfg.Process, Accounts: len(b.accounts), Refused: b.refused}
}

// Hold is what one request has reserved. A nil or zero Hold has no budget and refuses
// nothing. Grow and Shrink may be called concurrently; Release comes after all of them.
type Hold struct {
	budget  *Budget
	account string
	bytes   int64 // guarded by budget.mu while Grow and Shrink are called
}

// Hold returns an empty hold of an account, or of the process alone if the account is
// "" because it is not known yet. A nil Budget gives holds without bounds.
func (b *Budget) Hold(account string) Hold { return Hold{budget: b, account: account} }

// Grow reserves n more bytes, or nothing.
//
// Returns AccountBusy when the account is over its share, Busy when the process is over
// its limit.
func (h *Hold) Grow(n int64) error {
	if h == nil || h.budget == nil || n <= 0 {
		return nil
	}
	b := h.budget
	switch b.take(h, n, 1) {
	case nodegate.AccountBusy:
		b.sendAway(h.account)
		return overShare(b.cfg.Account)
	case nodegate.Busy:
		b.count(&b.refused.Process)
		return overLimit()
	}
	b.signal()
	return nil
}

// Try is Grow for what can be done without: it reports whether the bytes are reserved,
// and a refusal is not counted as one. It leaves half of each bound to those who can't
// do without.
func (h *Hold) Try(n int64) bool {
	if h == nil || h.budget == nil || n <= 0 {
		return true
	}
	if h.budget.take(h, n, 2) != taken {
		return false
	}
	h.budget.signal()
	return true
}

// taken is the code of a reservation that was made.
const taken nodegate.Code = 0

// take reserves within a part of the bounds, or returns whose bound forbids it.
func (b *Budget) take(h *Hold, n, part int64) nodegate.Code {
	b.mu.Lock()
	defer b.mu.Unlock()
	if share := b.cfg.Account; share > 0 && h.account != "" && b.held(h.account)+n > share/part {
		return nodegate.AccountBusy
	}
	if b.reserved+n > b.cfg.Process/part {
		return nodegate.Busy
	}
	b.add(h, n)
	b.highest = max(b.highest, b.reserved)
	return taken
}

// sendAway counts a refusal and notes when the account was told to come back.
func (b *Budget) sendAway(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused.Account++
	if a := b.accounts[name]; a != nil {
		a.until = time.Now().Add(retryAfter).UnixNano()
		b.waiting.Store(a.until)
	}
}

// Admit refuses an account that was refused a moment ago, has not waited as long as it
// was told to and still holds half of its share: what it asks for would most likely be
// worked for and then dropped. All others pass at the cost of a look at one number.
//
// Returns AccountBusy.
func (h *Hold) Admit() error {
	b := h.budget
	if b == nil || b.waiting.Load() == 0 {
		return nil
	}
	now := time.Now().UnixNano()
	if b.waiting.Load() < now {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.accounts[h.account]
	if a == nil || a.until < now || a.bytes < b.cfg.Account/2 {
		return nil
	}
	b.refused.Account++
	return overShare(b.cfg.Account)
}

func (b *Budget) count(refused *int64) {
	b.mu.Lock()
	*refused++
	b.mu.Unlock()
}

// add moves the counts. The budget is locked.
func (b *Budget) add(h *Hold, n int64) {
	h.bytes += n
	b.reserved += n
	if h.account == "" {
		return
	}
	a := b.accounts[h.account]
	if a == nil {
		a = &account{}
		b.accounts[h.account] = a
	}
	if a.bytes += n; a.bytes == 0 {
		delete(b.accounts, h.account)
	}
}

// held is what an account has reserved. The budget is locked.
func (b *Budget) held(name string) int64 {
	if a := b.accounts[name]; a != nil {
		return a.bytes
	}
	return 0
}

// Shrink gives n bytes back, at most what is held.
func (h *Hold) Shrink(n int64) {
	if h == nil || h.budget == nil || n <= 0 {
		return
	}
	h.budget.mu.Lock()
	h.budget.add(h, -min(n, h.bytes))
	h.budget.mu.Unlock()
	h.budget.signal()
}

// Release gives everything back. The hold may be used again.
func (h *Hold) Release() {
	if h.bytes != 0 {
		h.Shrink(h.bytes)
	}
}

// Fits tells whether n more bytes would be within the account's share if nothing else of
// the account were reserved. Where they would not, waiting doesn't help.
func (h *Hold) Fits(n int64) bool {
	if h == nil || h.budget == nil || h.account == "" || h.budget.cfg.Account <= 0 {
		return true
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.bytes+n <= h.budget.cfg.Account
}

// Held is how many bytes are reserved.
func (h *Hold) Held() int64 {
	if h == nil {
		return 0
	}
	return h.bytes
}

// Move empties the hold and returns one with what it held: for bytes that outlive the
// request, such as an answer that somebody else writes.
func (h *Hold) Move() *Hold {
	moved := *h
	h.bytes = 0
	return &moved
}

// signal calls Pressure when the budget has become much or little used. The first look
// costs a small request nothing it would notice: only large ones come here.
func (b *Budget) signal() {
	if b.cfg.Pressure == nil || !b.turns() {
		return
	}
	b.pressure.Lock()
	defer b.pressure.Unlock()
	b.mu.Lock()
	turns := b.turning()
	if turns {
		b.pressed = !b.pressed
	}
	b.mu.Unlock()
	if turns {
		b.cfg.Pressure(b.pressed)
	}
}

func (b *Budget) turns() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turning()
}

// turning tells whether Pressure has to be called. The budget is locked.
func (b *Budget) turning() bool {
	if b.pressed {
		return b.reserved < b.cfg.Process/littlePart
	}
	return b.reserved > b.cfg.Process/muchPart
}

func overShare(share int64) error {
	return &nodegate.Error{
		Op: "budget", Code: nodegate.AccountBusy, RetryAfter: retryAfter,
		Msg: fmt.Sprintf("the account's requests and unread answers hold too much memory: at most %d MiB at the same time; read the answers, or send fewer or smaller requests at once", share>>20),
	}
}

func overLimit() error {
	return &nodegate.Error{Op: "budget", Code: nodegate.Busy, RetryAfter: retryAfter, Msg: "server busy: requests hold too much memory; try again"}
}
