package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/full"
)

// take reads n events and joins them.
func take(t testing.TB, sub *Subscription, n int) string {
	t.Helper()
	var got []string
	for range n {
		select {
		case event, ok := <-sub.C:
			if !ok {
				t.Fatalf("ended after %v: %v", got, sub.Err())
			}
			got = append(got, string(event))
		case <-time.After(patience):
			t.Fatalf("no event after %v", got)
		}
	}
	return strings.Join(got, " ")
}

// isClosed waits for the end of a subscription.
func isClosed(t testing.TB, sub *Subscription) error {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case _, ok := <-sub.C:
			if !ok {
				return sub.Err()
			}
		case <-end:
			t.Fatal("the subscription has not ended")
		}
	}
}

// TestSubscribeOrder: events reach their subscription whenever they come, also before
// the answer that names it, in the order in which they came.
func TestSubscribeOrder(t *testing.T) {
	for _, early := range []int{0, 1, 5} {
		s := dialNode(t, startSocketNode(t, func(p *peer) {
			a := p.next()
			for n := range 10 {
				if n == early && !p.answer(a, `"0xa"`) {
					return
				}
				if !p.event(`"0xa"`, fmt.Sprint(n)) || !p.event(`"0xother"`, "7") { // ten strays are few
					return
				}
			}
			p.next()
		}))
		sub, err := s.Subscribe(context.Background(), []byte(`["newHeads"]`))
		if err != nil {
			t.Fatal(err)
		}
		if got := take(t, sub, 10); got != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("%d early: %s", early, got)
		}
	}
}

// TestSubscribeTwo: two subscriptions don't mix, and end on their own.
func TestSubscribeTwo(t *testing.T) {
	unsubscribed, forgotten := make(chan string, 1), make(chan struct{})
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		a, b := p.next(), p.next()
		p.event("22", `"b0"`)
		p.answer(b, "22")
		p.answer(a, `"0xa"`)
		p.event(`"0xa"`, `"a1"`)
		p.event("22", `"b1"`)
		c := p.next()
		unsubscribed <- c.Method + string(c.Params)
		for range 3 * maxStray { // on their way when the node was told
			p.event(`"0xa"`, `"late"`)
		}
		p.answer(c, "true")
		<-forgotten
		for range 3 * maxStray { // and some nodes are slow to stop
			p.event(`"0xa"`, `"later"`)
		}
		p.event("22", `"b2"`)
		p.next()
	}))
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan *Subscription, 1)
	go func() {
		sub, err := s.Subscribe(ctx, []byte(`["newHeads"]`))
		if err != nil {
			t.Error(err)
		}
		first <- sub
	}()
	eventually(t, "the first has asked", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.flying["1"] != nil && s.flying["1"].sent })
	b, err := s.Subscribe(context.Background(), []byte(`["logs",{}]`))
	if err != nil {
		t.Fatal(err)
	}
	a := <-first
	if got := take(t, a, 1) + take(t, b, 2); got != `"a1""b0" "b1"` {
		t.Errorf("got %s", got)
	}
	cancel()
	if err := isClosed(t, a); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got := <-unsubscribed; got != `eth_unsubscribe["0xa"]` {
		t.Errorf("the node is told %s", got)
	}
	eventually(t, "the first is forgotten", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.subs) == 1 })
	close(forgotten)
	if got := take(t, b, 1); got != `"b2"` || s.Err() != nil {
		t.Errorf("the other one: %s, %v", got, s.Err())
	}
}

// TestSubscribeBehind: a reader that doesn't read loses its subscription; calls and
// other subscriptions go on.
func TestSubscribeBehind(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		event string
	}{"many": {maxQueued + 2, "1"}, "large": {40, `"` + strings.Repeat("x", maxQueuedBytes/32) + `"`}} {
		s := dialNode(t, startSocketNode(t, func(p *peer) {
			p.answer(p.next(), `"0xslow"`)
			p.answer(p.next(), `"0xfast"`)
			for range tt.n {
				p.event(`"0xslow"`, tt.event)
			}
			p.event(`"0xfast"`, `"f"`)
			for a := p.next(); p.answer(a, `"`+a.Method+`"`); {
				if a = p.next(); a == nil {
					return
				}
			}
		}))
		slow, err := s.Subscribe(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		fast, err := s.Subscribe(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := take(t, fast, 1); got != `"f"` {
			t.Errorf("%s: the fast one gets %s", name, got)
		}
		eventually(t, "the slow one ends", func() bool { return slow.Err() != nil })
		read := 0
		for range slow.C {
			read++
		}
		if !errors.Is(slow.Err(), ErrBehind) || read > 1 {
			t.Errorf("%s: %v after %d events", name, slow.Err(), read)
		}
		if got, err := s.Call(soon(t), "m", nil); string(got) != `"m"` {
			t.Errorf("%s: a call: %s, %v", name, got, err)
		}
	}
}

// TestSubscribeFails: refusals, wrong answers, and a node that begins a subscription
// that nobody waits for any more.
func TestSubscribeFails(t *testing.T) {
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		p.say(`{"id":%s,"error":{"code":-32601,"message":"no such thing"}}`, p.next().ID)
		for _, wrong := range []string{"null", "true", "{}", `["0x1"]`, `"` + strings.Repeat("x", 300) + `"`} {
			p.answer(p.next(), wrong)
		}
		p.answer(p.next(), `"0x1"`)
		p.answer(p.next(), `"0x1"`)
		p.next()
	}))
	if got, err := s.Subscribe(soon(t), nil); outcome(nil, err) != "call -32601 no such thing " {
		t.Errorf("refused: %v, %v", got, err)
	}
	for range 5 {
		if _, err := s.Subscribe(soon(t), nil); !errors.Is(err, notAnID) {
			t.Errorf("a wrong id: %v", err)
		}
	}
	if _, err := s.Subscribe(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Subscribe(context.Background(), nil); !errors.Is(err, notAnID) {
		t.Errorf("an id that is taken: %v", err)
	}
}

// TestSubscribeLeave: a node that begins a subscription for which nobody waits any
// more is told so, whether its caller left or lost patience.
func TestSubscribeLeave(t *testing.T) {
	full.Slow(t)
	for _, leave := range []bool{true, false} {
		asked, left, told := make(chan struct{}), make(chan struct{}), make(chan string, 1)
		url := startSocketNode(t, func(p *peer) {
			a := p.next()
			close(asked)
			<-left
			p.answer(a, `"0x5"`)
			if a = p.next(); a != nil {
				told <- a.Method + string(a.Params)
			}
			p.answer(a, "true")
			p.next()
		})
		cfg, want := Config{URL: url, Timeout: 3 * time.Second}, context.DeadlineExceeded
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if leave {
			cfg.Timeout, want = patience, context.Canceled
			go func() { <-asked; cancel() }()
		}
		s, err := DialSocket(soon(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Subscribe(ctx, nil); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		close(left)
		select {
		case got := <-told:
			if got != `eth_unsubscribe["0x5"]` {
				t.Errorf("the node is told %s", got)
			}
		case <-time.After(patience):
			t.Error("the node is not told")
		}
	}
}

// TestSubscribeSocketEnds: what came before the socket's end is delivered.
func TestSubscribeSocketEnds(t *testing.T) {
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		p.answer(p.next(), `"0x1"`)
		for n := range 5 {
			p.event(`"0x1"`, fmt.Sprint(n))
		}
	}))
	sub, err := s.Subscribe(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = ended(t, s)
	if got := take(t, sub, 5); got != "0 1 2 3 4" {
		t.Errorf("got %s", got)
	}
	if err := isClosed(t, sub); err != s.Err() {
		t.Errorf("ended with %v", err)
	}
}
