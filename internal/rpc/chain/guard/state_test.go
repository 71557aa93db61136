package guard

import (
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
)

// Code that never jumps is asked at every call frame and at every hash.
func TestState(t *testing.T) {
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatal(err)
	}
	for name, pass := range map[string]func(s *State){
		"frame": func(s *State) { s.Snapshot() },
		"hash":  func(s *State) { s.AddPreimage(common.Hash{}, make([]byte, 64)) },
	} {
		s := &State{StateDB: db, Guard: New(time.Now().Add(time.Hour), 1000)}
		run := func() error { return Run(func() error { pass(s); return nil }) }
		times := 0
		for run() == nil {
			times++
		}
		if want := map[string]int{"frame": 10, "hash": 23}[name]; times != want || !s.Guard.Stopped() {
			t.Errorf("%s: %d times 1,000 gas, want %d", name, times, want)
		}
		s.Guard = New(time.Now().Add(time.Hour), Unlimited)
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Guard.Stop()
		if err := run(); !errors.Is(err, ErrStopped) {
			t.Errorf("%s of a stopped execution: %v", name, err)
		}
	}
	if len(db.Preimages()) != 0 {
		t.Error("preimages are kept")
	}
}
