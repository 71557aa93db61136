package fairshare

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// longWorked is the context of a request that has used up its free time.
func longWorked(t *testing.T, p *Pool, name string) context.Context {
	t.Helper()
	ctx := With(t.Context(), p, name)
	if err := Do(ctx, func() { time.Sleep(Free) }); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, done := New(1, 1), false
		ctx := longWorked(t, p, "a")
		if err := Do(ctx, func() { done = p.Used() == 1 }); err != nil || !done || p.Used() != 0 {
			t.Error(err, done, p.Used())
		}
		err := Turn(ctx, func(ctx context.Context) {
			if err := Do(ctx, func() { done = p.Used() == 1 }); err != nil || !done {
				t.Error("a turn in a turn:", err, done)
			}
		})
		if err != nil || p.Used() != 0 {
			t.Error(err, p.Used())
		}
		if err := Do(t.Context(), func() { done = p.Used() == 0 }); err != nil || !done {
			t.Error("without turns:", err, done)
		}
	})
}

// TestFree: a request that works for a short time only needs no slot, whoever has them.
func TestFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		if !p.Try("other") {
			t.Fatal("no slot")
		}
		ctx, cancel := context.WithTimeout(With(t.Context(), p, "a"), time.Second)
		defer cancel()
		turns := 0
		for Do(ctx, func() { time.Sleep(Free / 5) }) == nil {
			turns++
		}
		if turns != 5 {
			t.Errorf("%d pieces of work had no need of a slot", turns)
		}
	})
}

// TestCount: work that was done outside of turns brings them nearer.
func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, used := New(1, 1), -1
		ctx := With(t.Context(), p, "a")
		for range 10 {
			Count(ctx, Free/10)
		}
		if err := Do(ctx, func() { used = p.Used() }); err != nil || used != 1 {
			t.Errorf("%d slots in use during the work: %v", used, err)
		}
		if spent := Spent(ctx); spent != Free {
			t.Errorf("worked for %s", spent)
		}
		Count(t.Context(), Free) // without turns
	})
}

// TestSpentInTurns: work in turns counts like that before, whichever context it was done with.
func TestSpentInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := With(t.Context(), New(1, 1), "a")
		TakeTurns(ctx)
		alone := Alone(ctx, func() {}, func() {})
		for _, c := range []context.Context{ctx, alone, Others(alone)} {
			if err := Do(c, func() { time.Sleep(time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
		}
		if spent := Spent(ctx); spent != 3*time.Millisecond {
			t.Errorf("worked for %s", spent)
		}
	})
}

// TestLessFree: the next requests of an owner that takes turns have less time without.
func TestLessFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(2, 2)
		err := Do(longWorked(t, p, "a"), func() {
			for name, want := range map[string]int{"a": 0, "b": 1} {
				ctx := With(t.Context(), p, name)
				if err := Do(ctx, func() { time.Sleep(freeAmong) }); err != nil {
					t.Error(err)
				}
				used := p.Used()
				if err := Do(ctx, func() { used -= p.Used() }); err != nil || used != want-1 {
					t.Errorf("%s: %v, %d slots were taken", name, err, -used)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestAlone: late is called once, before the first turn, and not by those who help.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, late := New(1, 1), 0
		ctx := Alone(longWorked(t, p, "a"), func() { late++ }, nil)
		helper := Others(ctx)
		if err := Do(helper, func() {}); err != nil || late != 0 {
			t.Errorf("%v, called %d times", err, late)
		}
		for range 3 {
			if err := Do(ctx, func() {}); err != nil || late != 1 {
				t.Errorf("%v, called %d times", err, late)
			}
		}
		if p.Used() != 0 || Alone(t.Context(), nil, nil) != t.Context() || Others(t.Context()) != t.Context() {
			t.Error("something is left, or added to a context without turns")
		}
	})
}

// TestKeptSlot: a request keeps its slot between short turns while others wait, but neither
// beyond its quantum nor when it doesn't come back.
func TestKeptSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		mine, theirs := Alone(longWorked(t, p, "mine"), func() {}, nil), longWorked(t, p, "other")
		other := make(chan time.Duration, 1)
		begun := time.Now()
		turn := func(work time.Duration) {
			if err := Do(mine, func() { time.Sleep(work) }); err != nil {
				t.Error(err)
			}
		}
		await := func() { // the other one's turn
			go func() {
				if err := Do(theirs, func() { other <- time.Since(begun) }); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if err := Do(mine, await); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			time.Sleep(pause / 2)
			turn(quantum / 5)
			if len(other) > 0 {
				t.Fatalf("the other one was woken after %v", <-other)
			}
		}
		turn(quantum)
		if after := <-other; after < quantum || after > 3*quantum {
			t.Errorf("the other one was woken after %v", after)
		}
		begun = time.Now()
		if err := Do(mine, await); err != nil { // and doesn't come back
			t.Fatal(err)
		}
		if after := <-other; after != pause {
			t.Errorf("the other one waited for %v", after)
		}
		synctest.Wait()
		if !p.Idle() {
			t.Error("something is left")
		}
	})
}
