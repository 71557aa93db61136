package filter_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/filter"
	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/test/dbtest"
)

var _ filter.Store = (*redisstore.Filters)(nil)

// TestStores holds every store to the same.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(*testing.T) filter.Store{
		"memory": func(*testing.T) filter.Store { return &filter.Memory{} },
		"redis":  openRedis,
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			t.Run("filters", func(t *testing.T) { checkFilters(t, store) })
			t.Run("places", func(t *testing.T) { checkPlaces(t, store) })
			t.Run("pending", func(t *testing.T) { checkPending(t, store) })
		})
	}
}

func openRedis(t *testing.T) filter.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), "redis://"+dbtest.Redis(t).Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.Filters(redisstore.FilterBounds{Life: int(filter.Life.Seconds()), Places: filter.MaxPlaces, Pending: filter.MaxPending})
}

// must is for what a working store always does.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func checkFilters(t *testing.T, s filter.Store) {
	ctx, yes, bytes := t.Context(), must[bool](t), must[[]byte](t)
	if state := bytes(s.Load(ctx, "n", "a", "1")); state != nil {
		t.Errorf("before it is created: %q", state)
	}
	if !yes(s.Create(ctx, "n", "a", "1", 1, []byte("one"))) {
		t.Fatal("not kept")
	}
	for _, other := range [][3]string{{"m", "a", "1"}, {"n", "b", "1"}, {"n", "a", "2"}} {
		if state := bytes(s.Load(ctx, other[0], other[1], other[2])); state != nil {
			t.Errorf("under %v: %q", other, state)
		}
		if yes(s.Remove(ctx, other[0], other[1], other[2])) {
			t.Errorf("removed under %v", other)
		}
	}
	if state := bytes(s.Load(ctx, "n", "a", "1")); string(state) != "one" {
		t.Errorf("it is %q", state)
	}
	if yes(s.Save(ctx, "n", "a", "1", []byte("other"), []byte("two"))) {
		t.Error("saved over what somebody else saved")
	}
	if !yes(s.Save(ctx, "n", "a", "1", []byte("one"), []byte("two"))) || string(bytes(s.Load(ctx, "n", "a", "1"))) != "two" {
		t.Error("not saved")
	}
	if !yes(s.Remove(ctx, "n", "a", "1")) || yes(s.Remove(ctx, "n", "a", "1")) || bytes(s.Load(ctx, "n", "a", "1")) != nil {
		t.Error("not removed once")
	}
	if yes(s.Save(ctx, "n", "a", "1", []byte("two"), []byte("three"))) {
		t.Error("saved after its end")
	}
}

func checkPlaces(t *testing.T, s filter.Store) {
	ctx, yes := t.Context(), must[bool](t)
	for i := range filter.MaxPlaces - 3 {
		if !yes(s.Create(ctx, "n", "busy", fmt.Sprint(i), 1, []byte("x"))) {
			t.Fatalf("filter %d is refused", i)
		}
	}
	if yes(s.Create(ctx, "n", "busy", "too large", 4, []byte("x"))) || !yes(s.Create(ctx, "n", "busy", "large", 3, []byte("x"))) {
		t.Error("3 places are left")
	}
	if yes(s.Create(ctx, "n", "busy", "one more", 1, []byte("x"))) || !yes(s.Create(ctx, "m", "busy", "1", 1, []byte("x"))) || !yes(s.Create(ctx, "n", "other", "1", 1, []byte("x"))) {
		t.Error("places are counted by account and network")
	}
	if _, err := s.Load(ctx, "n", "busy", "large"); err != nil {
		t.Error(err)
	}
	if !yes(s.Remove(ctx, "n", "busy", "large")) || !yes(s.Create(ctx, "n", "busy", "large again", 3, []byte("x"))) {
		t.Error("places don't come back")
	}
}

func checkPending(t *testing.T, s filter.Store) {
	ctx := t.Context()
	after := func(position uint64, most int) ([]string, uint64) {
		t.Helper()
		list, last, err := s.Pending(ctx, "p", position, most)
		if err != nil {
			t.Fatal(err)
		}
		return list, last
	}
	if list, last := after(0, 10); len(list) != 0 || last != 0 {
		t.Errorf("at first: %v, %d", list, last)
	}
	for _, batch := range [][]string{{"a", "b"}, {"b", "c", "a"}, {"d"}} {
		if err := s.AddPending(ctx, "p", batch); err != nil {
			t.Fatal(err)
		}
	}
	if _, last := after(0, 0); last != 4 {
		t.Errorf("the newest is at %d", last)
	}
	list, last := after(0, 3)
	rest, end := after(last, 3)
	if !slices.Equal(list, []string{"a", "b", "c"}) || !slices.Equal(rest, []string{"d"}) || last != 3 || end != 4 {
		t.Errorf("%v up to %d, %v up to %d", list, last, rest, end)
	}
	if list, last := after(4, 3); len(list) != 0 || last != 4 {
		t.Errorf("at the end: %v, %d", list, last)
	}
	many := make([]string, filter.MaxPending)
	for i := range many {
		many[i] = fmt.Sprint("tx", i)
	}
	for part := range slices.Chunk(many, 5000) {
		if err := s.AddPending(ctx, "p", part); err != nil {
			t.Fatal(err)
		}
	}
	if list, last := after(0, 2); !slices.Equal(list, many[:2]) || last != 6 {
		t.Errorf("the oldest are %v, up to %d", list, last)
	}
}
