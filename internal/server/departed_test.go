package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// left are accounts that were deleted, the earliest first.
type left []nodegate.Departed

func (l *left) Departed(_ context.Context, after nodegate.Departed, limit int) (page []nodegate.Departed, _ error) {
	for _, one := range *l {
		if len(page) < limit && (one.At.After(after.At) || one.At.Equal(after.At) && one.AccountID > after.AccountID) {
			page = append(page, one)
		}
	}
	return page, nil
}

func (l *left) ForgetDeparted(_ context.Context, accountID string) error {
	for i, one := range *l {
		if one.AccountID == accountID {
			*l = append((*l)[:i:i], (*l)[i+1:]...)
			return nil
		}
	}
	return nil
}

// stubborn is a store in which the pins of one account can't be listed.
type stubborn struct {
	stored
	account string
}

func (s stubborn) Pins(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error {
	if accountID == s.account {
		return errors.New("this one can't be read")
	}
	return s.stored.Pins(ctx, accountID, each)
}

func openBlocks(t *testing.T) stored {
	t.Helper()
	s, err := blockstore.Open(t.Context(), blockstore.Config{Dir: t.TempDir(), Links: unixfs.Links, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return stored{s}
}

func pinFor(t *testing.T, s stored, account string) {
	t.Helper()
	data := []byte("of " + account)
	hash, err := multihash.Sum(data, multihash.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	id, b := cid.NewCidV1(cid.Raw, hash), s.Begin(account, 0)
	if err := b.Put(t.Context(), id, data); err != nil {
		t.Fatal(err)
	}
	b.Pin(nodegate.Pin{CID: id.String(), Recursive: true, Size: int64(len(data)), Created: time.Now()})
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// One account whose pins can't be removed holds up nobody else, however many have left, and
// what left long ago is forgotten.
func TestDepartures(t *testing.T) {
	s := openBlocks(t)
	now := time.Now()
	list := &left{{AccountID: "stuck", At: now.Add(-48 * time.Hour)}, {AccountID: "old", At: now.Add(-47 * time.Hour)}}
	for i := range departedMost + 10 {
		*list = append(*list, nodegate.Departed{AccountID: fmt.Sprintf("a-%04d", i), At: now.Add(-time.Hour)})
	}
	last := fmt.Sprintf("a-%04d", departedMost+9)
	for _, account := range []string{"stuck", "old", "a-0000", last, "stays"} {
		pinFor(t, s, account)
	}
	d := &departures{store: list, pins: stubborn{s, "stuck"}}
	if err := d.clear(t.Context()); err == nil {
		t.Error("nobody hears of the one that is stuck")
	}
	for account, want := range map[string]int{"stuck": 1, "old": 0, "a-0000": 0, last: 0, "stays": 1} {
		n := 0
		if err := s.Pins(t.Context(), account, func(nodegate.Pin) bool { n++; return true }); err != nil || n != want {
			t.Errorf("%s has %d pins, %v", account, n, err)
		}
	}
	if len(*list) != departedMost+11 || (*list)[0].AccountID != "stuck" {
		t.Errorf("%d are left, first %s", len(*list), (*list)[0].AccountID)
	}
	d.turn = func(context.Context) (bool, error) { return false, nil }
	if err := d.clear(t.Context()); err != nil {
		t.Errorf("without a turn: %v", err)
	}
}
