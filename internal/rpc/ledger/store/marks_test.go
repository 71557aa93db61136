package store

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pointers are kept in memory. One that was changed is never the old one for who asks after
// that, however many read it meanwhile.
func TestChangedMarks(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	const blocks, changes = 20, 100
	parent := [32]byte{}
	for n := range uint64(blocks) {
		b := testBlock(n, parent, n+1, nil)
		must(t, s.Append(b))
		parent = b.Hash
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := uint64(0); ; n = (n + 1) % blocks {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := s.Canonical(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range changes {
		m, ok, err := s.Canonical(uint64(i % blocks))
		if err != nil || !ok {
			t.Fatalf("block %d: %v, %v", i%blocks, ok, err)
		}
		m.Agreed = uint8(i + 1)
		must(t, s.SetMark(m))
		if now, _, err := s.Canonical(m.Number); err != nil || now != m {
			t.Fatalf("block %d: %+v, %v, want %+v", m.Number, now, err, m)
		}
	}
	close(stop)
	readers.Wait()
	must(t, s.Close())
}
