package chain

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodegate/nodegate/internal/background"
)

// TestLongReadsStepBack: a long read in the heavy lane works at low priority.
func TestLongReadsStepBack(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	n := openDevnet(t)
	nice := func(context.Context) (int32, error) {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			return 0, err
		}
		return attr.Nice, nil
	}
	usual, err := nice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api := newAPIMethod(reflect.ValueOf(nice), true, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = n.lanes.RunHeavy(ctx, time.Minute, func(ctx context.Context, _ time.Duration) error {
		got, err := n.onThisThread(ctx, api, nil)
		if string(got) == fmt.Sprint(usual) {
			t.Errorf("it works with niceness %s", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
