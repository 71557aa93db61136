package pool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a context that notes whether anybody asked it for Done.
type watched struct {
	context.Context
	asked bool
}

func (w *watched) Done() <-chan struct{} {
	w.asked = true
	return w.Context.Done()
}

// TestTerm: it ends as context.WithDeadline does, whether it is watched or not.
func TestTerm(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(term *term, cancel context.CancelFunc)
		want error
	}{
		"nothing":            {func(*term, context.CancelFunc) {}, nil},
		"its time":           {func(*term, context.CancelFunc) { time.Sleep(time.Second) }, context.DeadlineExceeded},
		"its end":            {func(term *term, _ context.CancelFunc) { term.end() }, context.Canceled},
		"the caller's end":   {func(_ *term, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"its end, then time": {func(term *term, _ context.CancelFunc) { term.end(); time.Sleep(time.Second) }, context.Canceled},
	} {
		for when, watch := range map[string][2]bool{"never": {}, "from the start": {true, true}, "afterwards": {false, true}} {
			t.Run(name+", watched "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(t.Context())
					defer cancel()
					caller := &watched{Context: parent}
					bounded := &term{Context: caller, deadline: time.Now().Add(time.Second)}
					defer bounded.end()
					if watch[0] {
						bounded.Done()
					}
					c.do(bounded, cancel)
					synctest.Wait()
					if watch[1] {
						checkDone(t, bounded, c.want != nil)
					}
					if err := bounded.Err(); !errors.Is(err, c.want) {
						t.Errorf("ended with %v, want %v", err, c.want)
					}
					if caller.asked != watch[1] {
						t.Errorf("the caller's Done was asked for: %t", caller.asked)
					}
				})
			})
		}
	}
}

// checkDone: the context, and one made of it, have ended or not.
func checkDone(t *testing.T, ctx context.Context, want bool) {
	t.Helper()
	below, cancel := context.WithCancel(ctx)
	defer cancel()
	synctest.Wait()
	for _, c := range []context.Context{ctx, below} {
		select {
		case <-c.Done():
			if !want {
				t.Error("done too early")
			}
		default:
			if want {
				t.Error("not done")
			}
		}
	}
}

// TestCallIsUnwatched: a call that is answered at once does not have its client watched,
// with a spare node or without.
func TestCallIsUnwatched(t *testing.T) {
	for _, fakes := range [][]*fake{{newFake("a", 100)}, {newFake("a", 100), newFake("b", 100)}} {
		bubble(t, func(t *testing.T) {
			p, _ := openFakes(t, nil, fakes...)
			settle()
			p.reader.delays[runs].Store(int64(hedgeFloor))
			caller := &watched{Context: t.Context()}
			if _, err := p.Call(caller, "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
			if caller.asked {
				t.Errorf("with %d nodes the client was watched", len(fakes))
			}
		})
	}
}
