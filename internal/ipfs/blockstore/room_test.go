package blockstore

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// spaceDisk is a disk that has so much free, and counts who looks.
type spaceDisk struct {
	disk
	free  int64
	looks int
}

func (d *spaceDisk) Free() (int64, error) {
	d.looks++
	return d.free, nil
}

// The disk is looked at before each write where it is nearly full, and seldom where it
// has far more free than anybody can write in a moment.
func TestLooksAtDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reserve = 1 << 30
		d := &spaceDisk{free: reserve + ampleSpace}
		r := &room{disk: d, index: &index{}, reserve: reserve, reclaims: make(signal, 1)}
		claim := func(n int64) error {
			err := r.claim(n)
			if err == nil {
				r.release(n)
			}
			return err
		}
		for range 100 {
			if err := claim(1 << 20); err != nil {
				t.Fatal(err)
			}
		}
		if d.looks != 1 {
			t.Errorf("looked %d times at an empty disk", d.looks)
		}
		if err := claim(ampleSpace + 1); !errors.Is(err, nodegate.InsufficientStorage) {
			t.Errorf("more than fits: %v", err)
		}
		d.free, d.looks = reserve+ampleSpace-1, 0
		time.Sleep(ampleTime)
		for range 100 {
			if err := claim(1); err != nil {
				t.Fatal(err)
			}
		}
		if d.looks != 100 {
			t.Errorf("looked %d times in 100 writes where little is free", d.looks)
		}
		d.free = reserve
		if err := claim(1); !errors.Is(err, nodegate.InsufficientStorage) {
			t.Errorf("beyond the reserve: %v", err)
		}
		if r.claimed.Load() != 0 {
			t.Errorf("%d bytes stay claimed", r.claimed.Load())
		}
	})
}
