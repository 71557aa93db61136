package account

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// What may be tried in a minute. Many people may sit behind one address, so it gets more
// than one account; what it gets bounds the hashes that it can have computed. Nobody is
// locked out for long: that would be a way to lock out others.
const (
	triesOfAccount = 5   // for an account from one place
	triesOfAddress = 50  // from an address that is not known, for all accounts
	triesByOthers  = 100 // for an account, from all addresses that are not known
	signUpsOfPlace = 20
)

// attempts counts tries to sign in within a minute. The known are counted apart from
// strangers, who can't reach those counts however many they are.
type attempts struct {
	mu    sync.Mutex
	begin time.Time

	known, pairs, addresses, accounts, signUps counts
}

// mayTry counts a try for an account.
func (l *attempts) mayTry(v visitor) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew()
	if v.known {
		return l.known.allow(v.who+"\x00"+v.place, triesOfAccount)
	}
	return l.addresses.allow(v.place, triesOfAddress) && l.pairs.allow(v.who+"\x00"+v.place, triesOfAccount) && l.accounts.allow(v.who, triesByOthers)
}

// maySignUp counts a new account from an address.
func (l *attempts) maySignUp(place string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew()
	return l.addresses.allow(place, triesOfAddress) && l.signUps.allow(place, signUpsOfPlace)
}

// renew begins a minute.
func (l *attempts) renew() {
	if time.Since(l.begin) < time.Minute {
		return
	}
	l.begin = time.Now()
	for _, c := range []*counts{&l.known, &l.pairs, &l.addresses, &l.accounts, &l.signUps} {
		*c = counts{}
	}
}

// counts is a count-min sketch: it counts any number of names in fixed memory. A name
// has a cell in each row, by a random hash that nobody can aim, and counts as the least
// of its cells. So names never push each other out, and of 5,000 that fill their budget
// fewer than one in a thousand others notices.
type counts struct {
	seed maphash.Seed
	rows *[countRows][countCells]uint8 // nil before the first
}

const (
	countRows  = 4
	countCells = 1 << 15
)

// allow counts a name and tells whether it is within its budget, below 255.
func (c *counts) allow(name string, most uint8) bool {
	if c.rows == nil {
		c.seed, c.rows = maphash.MakeSeed(), new([countRows][countCells]uint8)
	}
	hash := maphash.String(c.seed, name)
	var cells [countRows]*uint8
	least := uint8(math.MaxUint8 - 1)
	for i := range cells {
		cells[i] = &c.rows[i][uint16(hash>>(16*i))%countCells]
		least = min(least, *cells[i])
	}
	for _, cell := range cells { // those that are higher count others too
		*cell = max(*cell, least+1)
	}
	return least < most
}
