package dashboard

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// TestDraw: pages are written one at a time where there is one place, accounts take turns
// however many pages one of them asks for, and the wait is not charged.
func TestDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dashboard{drawing: fairshare.New(1, 1)}
		var mu sync.Mutex
		var order []string
		at, most := 0, 0
		page := func(account string) *visit {
			v := &visit{Dashboard: d, req: httptest.NewRequest("GET", "/keys", nil), account: &nodegate.Account{ID: account}}
			_, err := draw(v, func() ([]byte, error) {
				mu.Lock()
				order = append(order, account)
				at++
				most = max(most, at)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				at--
				mu.Unlock()
				return nil, nil
			})
			if err != nil {
				t.Error(err)
			}
			return v
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { page("greedy") })
		}
		synctest.Wait()
		begun := time.Now()
		v := page("other")
		if took := time.Since(begun); took > 30*time.Millisecond || v.waited < 10*time.Millisecond {
			t.Errorf("a page of another account took %v, of which %v was its wait", took, v.waited)
		}
		all.Wait()
		if most != 1 || len(order) != 21 {
			t.Errorf("%d pages, %d at once", len(order), most)
		}
	})
}

// TestDrawGone: a page is not written for a client that has left.
func TestDrawGone(t *testing.T) {
	d := &Dashboard{drawing: fairshare.New(1, 1)}
	if !d.drawing.Try("somebody") {
		t.Fatal("no place")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := &visit{Dashboard: d, req: httptest.NewRequest("GET", "/", nil).WithContext(ctx)}
	_, err := draw(v, func() ([]byte, error) {
		t.Error("written")
		return nil, nil
	})
	if !errors.Is(err, nodegate.Timeout) {
		t.Error(err)
	}
}
