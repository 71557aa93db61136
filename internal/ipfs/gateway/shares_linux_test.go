package gateway

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodegate/nodegate/internal/background"
)

// TestManyLargeRequestsGetLowPriority: an account that has used up its allowance works at
// low priority from the start, also in requests that take a moment only. Others don't.
func TestManyLargeRequestsGetLowPriority(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	s := newShares(Config{})
	priority := func(owner string) (nice int32) {
		ctx, p, err := s.enter(t.Context(), owner, true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.leave()
		_ = p.apart(ctx, func(context.Context) error {
			attr, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				return nil
			}
			nice = attr.Nice
			return nil
		})
		return nice
	}
	usual := priority("a")
	for range 1000 {
		priority("a")
	}
	if got := priority("a"); got <= usual {
		t.Errorf("after 1,000 requests the account has niceness %d", got)
	}
	if got := priority("b"); got != usual {
		t.Errorf("another account has niceness %d", got)
	}
}
