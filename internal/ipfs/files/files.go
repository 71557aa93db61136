// Package files lists, renames, unpins and restores an account's pinned files, for the
// dashboard.
package files

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nodegate/nodegate"
)

// Shelf is where an account's pins are; both engines of the storage gateway are one.
type Shelf interface {
	// Pins hands an account's pins to each, by CID, until it says no.
	Pins(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	// Unpinned hands out the pins that were taken off and that Undo can bring back.
	Unpinned(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	// Unpin takes a pin off. Returns NotFound.
	Unpin(ctx context.Context, accountID, cid string) error
	// Undo brings back a pin that was taken off. Returns NotFound.
	Undo(ctx context.Context, accountID, cid string) error
	// PinOf finds an account's pin of a CID. Returns NotFound.
	PinOf(ctx context.Context, accountID, cid string) (nodegate.Pin, error)
	// Rename gives a pin another name. Returns NotFound.
	Rename(ctx context.Context, accountID, cid, name string) error
	// Stored is what the account pays for, in bytes.
	Stored(accountID string) int64
}

// Most is how many pins can be looked through: the newest ones. A search reaches all.
const Most = 1000

// PageSize is how many pins a page shows.
const PageSize = 50

// maxUndo is how many pins that were taken off are shown, the latest.
const maxUndo = 100

// Query asks for one page of an account's pins.
type Query struct {
	AccountID string
	Search    string // a part of the name or of the CID; "" is all
	Page      int    // from 0
}

// Page is an answer: pins by date, the newest first.
type Page struct {
	Pins   []nodegate.Pin
	Total  int64 // that match
	More   bool  // there is a page behind it
	Gone   []nodegate.Pin
	Stored int64
	Days   [HistoryDays]int64 // bytes of the pins at the end of each day, today last
}

// Share does work of an account in its share of the server, so that it holds up nobody else.
type Share func(ctx context.Context, accountID string, work func(context.Context) error) error

// Files are the use cases.
type Files struct {
	shelf Shelf
	share Share
}

// New works on a shelf. What may take long is done in the account's share; without one it is
// done at once.
func New(s Shelf, share Share) *Files {
	if share == nil {
		share = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return &Files{shelf: s, share: share}
}

// List returns one page. It looks at every pin of the account and keeps the newest, so
// that the memory is bounded whatever the account holds.
//
// Returns what the account's share does when the account has too much to do.
func (f *Files) List(ctx context.Context, q Query) (page Page, err error) {
	err = f.share(ctx, q.AccountID, func(ctx context.Context) error {
		page, err = f.list(ctx, q)
		return err
	})
	return page, err
}

func (f *Files) list(ctx context.Context, q Query) (Page, error) {
	found, held := newest{most: Most}, newHistory(time.Now())
	if err := f.shelf.Pins(ctx, q.AccountID, held.counting(found.matching(q.Search))); err != nil {
		return Page{}, err
	}
	gone := newest{most: maxUndo, at: func(p *nodegate.Pin) int64 { return p.Unpinned.UnixMicro() }}
	if err := f.shelf.Unpinned(ctx, q.AccountID, held.counting(gone.matching(q.Search))); err != nil {
		return Page{}, err
	}
	all := found.sorted()
	from := min(max(0, q.Page)*PageSize, len(all))
	to := min(from+PageSize, len(all))
	return Page{Pins: all[from:to], Total: found.seen, More: to < len(all), Gone: gone.sorted(), Stored: f.shelf.Stored(q.AccountID), Days: held.days()}, nil
}

// Pin finds a pin of an account.
//
// Returns NotFound.
func (f *Files) Pin(ctx context.Context, accountID, cid string) (nodegate.Pin, error) {
	return f.shelf.PinOf(ctx, accountID, cid)
}

// Stored is what an account pays for, in bytes.
func (f *Files) Stored(accountID string) int64 { return f.shelf.Stored(accountID) }

// MaxName is the longest name of a pin in bytes, as Kubo has it.
const MaxName = 255

// Rename gives a pin another name; "" takes its name off.
//
// Returns NotFound, and InvalidInput for a name that not every system can show.
func (f *Files) Rename(ctx context.Context, accountID, cid, name string) error {
	name = strings.TrimSpace(name)
	if err := CheckName(name); err != nil {
		return err
	}
	return f.shelf.Rename(ctx, accountID, cid, name)
}

// CheckName returns InvalidInput for a name that a pin can't have.
func CheckName(name string) error {
	switch {
	case len(name) > MaxName:
		return badName(fmt.Sprintf("the name is %d bytes long: at most %d are allowed", len(name), MaxName))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return badName("the name has characters that can't be shown: use letters, digits and spaces")
	}
	return nil
}

func badName(msg string) error {
	return &nodegate.Error{Op: "files.rename", Code: nodegate.InvalidInput, Msg: msg}
}

// Each hands an account's pins to each, by CID, until it says no.
func (f *Files) Each(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error {
	return f.shelf.Pins(ctx, accountID, each)
}

// Unpin takes a pin off; for a while that can be undone.
//
// Returns NotFound.
func (f *Files) Unpin(ctx context.Context, accountID, cid string) error {
	return f.shelf.Unpin(ctx, accountID, cid)
}

// Undo brings back what Unpin took off.
//
// Returns NotFound, also when that was too long ago.
func (f *Files) Undo(ctx context.Context, accountID, cid string) error {
	return f.shelf.Undo(ctx, accountID, cid)
}

// newest keeps the latest of many pins.
type newest struct {
	most int
	at   func(*nodegate.Pin) int64 // what they are ordered by; nil is when they were made
	kept []nodegate.Pin
	seen int64
}

// matching takes the pins that a search means.
func (n *newest) matching(search string) func(nodegate.Pin) bool {
	search = strings.ToLower(strings.TrimSpace(search))
	return func(p nodegate.Pin) bool {
		if search == "" || strings.Contains(strings.ToLower(p.Name), search) || strings.Contains(strings.ToLower(p.CID), search) {
			n.seen++
			n.keep(p)
		}
		return true
	}
}

// keep adds a pin. The oldest are dropped in bulk, each time that twice as many are
// there as are wanted.
func (n *newest) keep(p nodegate.Pin) {
	n.kept = append(n.kept, p)
	if len(n.kept) >= 2*n.most {
		n.kept = n.sorted()
	}
}

func (n *newest) sorted() []nodegate.Pin {
	at := n.at
	if at == nil {
		at = func(p *nodegate.Pin) int64 { return p.Created.UnixMicro() }
	}
	slices.SortFunc(n.kept, func(a, b nodegate.Pin) int {
		return cmp.Or(cmp.Compare(at(&b), at(&a)), strings.Compare(a.CID, b.CID))
	})
	return n.kept[:min(len(n.kept), n.most)]
}
