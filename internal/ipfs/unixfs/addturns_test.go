package unixfs

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// TestEntriesLeadToTurns: an upload of very many files takes turns with those of other
// accounts although their content is known and costs nothing.
func TestEntriesLeadToTurns(t *testing.T) {
	var parts []upload
	for range fairshare.Free / entryWork {
		parts = append(parts, file("x", ""))
	}
	opts, err := ParseAdd(query(t, ""), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMemory(t)
	ctx := fairshare.With(t.Context(), fairshare.New(1, 1), "a")
	if _, err := New(m).Add(ctx, m.Begin("a", -1), bytes.NewReader(bodyOf(parts...)), boundary, opts, nil); err != nil {
		t.Fatal(err)
	}
	if spent := fairshare.Spent(ctx); spent < fairshare.Free {
		t.Errorf("%d files count as %s of work, want %s", len(parts), spent, fairshare.Free)
	}
}

// TestCutsLeadToTurns: cutting a file by its content is work that counts, on the goroutine that
// does it. With small chunks it is most of an upload's.
func TestCutsLeadToTurns(t *testing.T) {
	opts, err := ParseAdd(query(t, "chunker=rabin-16-32-64"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 2*64*fairshare.Free/cutWork)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	m, late := newMemory(t), 0
	ctx := fairshare.Alone(fairshare.With(t.Context(), fairshare.New(1, 1), "a"), func() { late++ }, func() {})
	if _, err := New(m).Add(ctx, m.Begin("a", -1), bytes.NewReader(bodyOf(file("f", string(content)))), boundary, opts, nil); err != nil {
		t.Fatal(err)
	}
	if late != 1 {
		t.Errorf("the goroutine that cuts was told %d times to step back", late)
	}
}

// TestHashersFollowTheSlots: a long file gets one CID, whether the layout hashes its leaves or
// several goroutines do, and its goroutines never outnumber the turns that there are.
func TestHashersFollowTheSlots(t *testing.T) {
	opts, err := ParseAdd(query(t, "chunker=size-1024"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	cids := map[string]bool{}
	for slots, most := range map[int]int{0: 4, 1: 1, 2: 2, 9: 4} {
		ctx := t.Context()
		if slots > 0 {
			ctx = fairshare.With(ctx, fairshare.New(slots, slots), "a")
			fairshare.TakeTurns(ctx)
		}
		if n := hashers(ctx); n > most {
			t.Errorf("%d goroutines hash for %d slots", n, slots)
		}
		cids[addedCID(ctx, t, content, opts)] = true
	}
	if len(cids) != 1 {
		t.Errorf("the file has %d CIDs: %v", len(cids), cids)
	}
}

func addedCID(ctx context.Context, t *testing.T, content []byte, opts *Options) string {
	t.Helper()
	m := newMemory(t)
	added, err := New(m).Add(ctx, m.Begin("a", -1), bytes.NewReader(bodyOf(file("f", string(content)))), boundary, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return added.Events[0].Hash
}

// TestPartsTakeTurns: every few parts of an upload take a turn, whatever they are: empty files,
// directories, those that are passed over. Without them, uploads of many would all work at
// once.
func TestPartsTakeTurns(t *testing.T) {
	const count = 100
	for name, one := range map[string]func(i int) upload{
		"empty files":         func(i int) upload { return file(fmt.Sprintf("d%d/%d", i%7, i), "") },
		"empty directories":   func(i int) upload { return directory(fmt.Sprint("d", i)) },
		"what is passed over": func(i int) upload { return file(fmt.Sprint("a/", i), "") },
	} {
		t.Run(name, func(t *testing.T) {
			parts := []upload{file("a", "")}
			for i := range count {
				parts = append(parts, one(i))
			}
			opts, err := ParseAdd(query(t, "wrap-with-directory=true&only-hash=true"), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			turns := 0
			ctx := fairshare.With(t.Context(), fairshare.New(1, 1), "a")
			fairshare.TakeTurns(ctx)
			ctx = fairshare.Alone(ctx, func() {}, func() { turns++ })
			m := newMemory(t)
			if _, err := New(m).Add(ctx, m.Begin("a", -1), bytes.NewReader(bodyOf(parts...)), boundary, opts, nil); err != nil {
				t.Fatal(err)
			}
			if turns < count/partsOfTurn {
				t.Errorf("%d turns for %d parts", turns, count)
			}
		})
	}
}
