// Package faucet sends ether of embedded networks, which has no value, to developers: a
// fixed amount, to one address at a time, rate limited.
package faucet

import (
	"context"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Amount is what one gift holds, in ether.
const Amount = 10

// pause is how long an account waits between two gifts.
const pause = 5 * time.Second

// maxAccounts bounds the memory of who was given to lately.
const maxAccounts = 10_000

// Give sends Amount to an address of a network and returns the transaction's hash.
type Give func(ctx context.Context, to [20]byte) (hash string, err error)

// Faucet is the use case.
type Faucet struct {
	give map[string]Give // by network

	mu   sync.Mutex
	last map[string]time.Time // by account
}

// New makes a faucet for some networks.
func New(give map[string]Give) *Faucet {
	return &Faucet{give: give, last: map[string]time.Time{}}
}

// On tells whether a network has a faucet.
func (f *Faucet) On(network string) bool { return f.give[network] != nil }

// Ask gives to an address.
//
// Returns NotFound for a network without a faucet, InvalidInput for what is no address,
// RateLimited for an account that was given to a moment ago, and what the network says.
func (f *Faucet) Ask(ctx context.Context, accountID, network, address string) (hash string, err error) {
	give := f.give[network]
	if give == nil {
		return "", &nodegate.Error{Op: "faucet", Code: nodegate.NotFound, Msg: "this network has no faucet"}
	}
	to, err := parse(address)
	if err != nil {
		return "", err
	}
	if !f.allow(accountID, time.Now()) {
		return "", &nodegate.Error{Op: "faucet", Code: nodegate.RateLimited, Msg: "the faucet was used a moment ago: wait a few seconds", RetryAfter: pause}
	}
	return give(ctx, to)
}

// parse reads an address in either case. A checksum is not asked for: nothing of value
// is sent.
func parse(s string) (to [20]byte, err error) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(s), "0x")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != len(to) {
		return to, &nodegate.Error{Op: "faucet", Code: nodegate.InvalidInput, Msg: "enter an address: 0x and 40 hex digits"}
	}
	return [20]byte(b), nil
}

// allow notes that an account asks. Who waited long enough is forgotten when there are
// many.
func (f *Faucet) allow(accountID string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.last[accountID]) < pause {
		return false
	}
	if len(f.last) >= maxAccounts {
		for id, at := range f.last {
			if now.Sub(at) >= pause {
				delete(f.last, id)
			}
		}
	}
	if len(f.last) >= maxAccounts {
		return false
	}
	f.last[accountID] = now
	return true
}
