package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// list is a shelf whose pins stand in a slice, by CID.
type list []nodegate.Pin

func (l list) each(live bool, each func(nodegate.Pin) bool) error {
	for _, p := range l {
		if p.Unpinned.IsZero() == live && !each(p) {
			return nil
		}
	}
	return nil
}

func (l list) Pins(_ context.Context, _ string, each func(nodegate.Pin) bool) error {
	return l.each(true, each)
}

func (l list) Unpinned(_ context.Context, _ string, each func(nodegate.Pin) bool) error {
	return l.each(false, each)
}
func (list) Unpin(context.Context, string, string) error          { return nil }
func (list) Undo(context.Context, string, string) error           { return nil }
func (list) Rename(context.Context, string, string, string) error { return nil }
func (list) Stored(string) int64                                  { return 7 }

func (list) PinOf(context.Context, string, string) (nodegate.Pin, error) {
	return nodegate.Pin{}, nodegate.NotFound
}

// Whatever an account holds, the pages together are its newest matching pins, once each
// and in order, and no more than Most of them.
func TestPagesAreTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.SampledFrom([]int{0, 1, PageSize, PageSize + 1, Most - 1, Most, Most + 1, 2*Most + 3}).Draw(t, "count")
		search := rapid.SampledFrom([]string{"", "a", "Ab", "cid-1", "nothing"}).Draw(t, "search")
		times := rapid.SliceOfN(rapid.IntRange(0, 3*Most), count, count).Draw(t, "times")
		var all list
		for i, at := range times {
			p := nodegate.Pin{CID: fmt.Sprintf("cid-%05d", i), Name: []string{"", "abc", "xyz"}[at%3], Created: time.UnixMicro(int64(at))}
			if at%10 == 9 {
				p.Unpinned = time.UnixMicro(int64(at))
			}
			all = append(all, p)
		}
		want := plain(all, search)
		var got []nodegate.Pin
		for page := 0; ; page++ {
			p, err := New(all, nil).List(context.Background(), Query{Search: search, Page: page})
			if err != nil || p.Total != int64(len(want)) || len(p.Pins) > PageSize || len(p.Gone) > maxUndo {
				t.Fatalf("page %d: %d pins, %d in all, %v; want %d", page, len(p.Pins), p.Total, err, len(want))
			}
			got = append(got, p.Pins...)
			if !p.More {
				break
			}
		}
		want = want[:min(len(want), Most)]
		if !slices.EqualFunc(got, want, func(a, b nodegate.Pin) bool { return a.CID == b.CID }) {
			t.Fatalf("%d pins, want %d, or another order", len(got), len(want))
		}
	})
}

// plain is the same without bounds.
func plain(all list, search string) (want []nodegate.Pin) {
	for _, p := range all {
		if p.Unpinned.IsZero() && (strings.Contains(strings.ToLower(p.Name), strings.ToLower(search)) || strings.Contains(p.CID, strings.ToLower(search))) {
			want = append(want, p)
		}
	}
	slices.SortFunc(want, func(a, b nodegate.Pin) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.CID, b.CID))
	})
	return want
}

// TestListIsInItsShare: a list reads all pins of an account, so it is work of the account.
func TestListIsInItsShare(t *testing.T) {
	busy := errors.New("busy")
	f := New(list{{CID: "c"}}, func(_ context.Context, accountID string, work func(context.Context) error) error {
		if accountID != "a" {
			return busy
		}
		return work(context.Background())
	})
	if p, err := f.List(t.Context(), Query{AccountID: "a"}); err != nil || p.Total != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := f.List(t.Context(), Query{AccountID: "b"}); !errors.Is(err, busy) {
		t.Errorf("the error is %v", err)
	}
}
