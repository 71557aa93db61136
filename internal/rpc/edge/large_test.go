package edge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// waitFor waits until so many requests wait for a slot of the lane.
func waitFor(t *testing.T, l largeLane, waiting int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); l.slots.Waiting() != waiting; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d wait, want %d", l.slots.Waiting(), waiting)
		}
	}
}

// TestLargeTurns: a large body of one account waits for one of another account, and not for
// all that this one sent before.
func TestLargeTurns(t *testing.T) {
	l := newLargeLane(2)
	if !l.slots.Try("in use") {
		t.Fatal("no slot")
	}
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	send := func(account string) {
		waiting := l.slots.Waiting()
		all.Go(func() {
			err := l.run(t.Context(), account, largeBody, func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, account)
			})
			if err != nil {
				t.Error(err)
			}
		})
		waitFor(t, l, waiting+1)
	}
	for range 20 {
		send("greedy")
	}
	send("victim")
	l.slots.Release("in use")
	all.Wait()
	if at := slices.Index(order, "victim"); at > 1 || len(order) != 21 || !l.slots.Idle() {
		t.Errorf("the other account was number %d of %d; idle: %v", at, len(order), l.slots.Idle())
	}
}

// TestLargeShare: with several slots, no account has all of them.
func TestLargeShare(t *testing.T) {
	for cores, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 8: 6} {
		l, got := newLargeLane(cores), 0
		for l.slots.Try("greedy") {
			got++
		}
		if others := l.slots.Try("other"); got != want || others != (cores > 2) {
			t.Errorf("%d cores: %d slots for one account, one for another: %v", cores, got, others)
		}
	}
}

// TestLargeLeaves: who waits for a slot leaves with the request, and nothing is done for it.
func TestLargeLeaves(t *testing.T) {
	l := newLargeLane(2)
	if !l.slots.Try("greedy") {
		t.Fatal("no slot")
	}
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				if packed := l.compress(ctx, "a", nil, make([]byte, largeBody)); packed != nil {
					ended <- errors.New("it was compressed")
					return
				}
				ended <- l.run(ctx, "a", largeBody, func() { t.Error("the work was done") })
			}()
			waitFor(t, l, 1)
			cancel()
			if err := <-ended; !errors.Is(err, nodegate.Timeout) || l.slots.Waiting() != 0 {
				t.Errorf("%v; %d wait", err, l.slots.Waiting())
			}
		})
	}
	done := false
	if err := l.run(t.Context(), "a", largeBody-1, func() { done = true }); err != nil || !done {
		t.Errorf("a small one: %v, done: %v", err, done)
	}
}

// TestLargeUnread: a body that got no turn has no requests, and none of the body before it.
func TestLargeUnread(t *testing.T) {
	x := &exchange{edge: &Edge{large: newLargeLane(2)}, grant: new(nodegate.Grant), body: make([]byte, largeBody)}
	if fault := x.scan.Scan([]byte(`{"jsonrpc":"2.0","id":"theirs","method":"m"}`), 1); fault != nil || len(x.scan.Requests) != 1 {
		t.Fatal(fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if fault, err := x.scanBody(ctx); fault != nil || !errors.Is(err, nodegate.Timeout) || len(x.scan.Requests) != 0 || x.scan.Batch {
		t.Errorf("%v, %v, %+v", fault, err, x.scan)
	}
}
