package edge

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// TestBodySpend: so many bytes go at once, more of them wait, and an account that is far
// behind gets an error until it has caught up. One body larger than all of that is taken.
func TestBodySpend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 1 << 20
		p := newBodyPace(rate)
		for range bodyBurst {
			if late, err := p.spend("a", rate, 1); late != 0 || err != nil {
				t.Fatalf("within the burst: %v, %v", late, err)
			}
		}
		for i := range 3 {
			if late, err := p.spend("a", rate, 1); late != time.Duration(i+1)*time.Second || err != nil {
				t.Fatalf("%d beyond it: %v, %v", i, late, err)
			}
		}
		if _, err := p.spend("a", rate, 1); !errors.Is(err, nodegate.AccountBusy) {
			t.Errorf("far behind: %v", err)
		}
		if late, err := p.spend("a", freeBody, 1); late != 0 || err != nil {
			t.Errorf("a small one: %v, %v", late, err)
		}
		if late, err := p.spend("b", 100*rate, 1); late != bodyBurst*time.Second || err != nil {
			t.Errorf("a very large one: %v, %v", late, err)
		}
		time.Sleep(time.Second)
		if late, err := p.spend("a", rate, 1); late != 3*time.Second || err != nil {
			t.Errorf("a second later: %v, %v", late, err)
		}
		if late, err := newBodyPace(0).spend("a", 100*rate, 1); late != 0 || err != nil {
			t.Errorf("without a limit: %v, %v", late, err)
		}
	})
}

// TestBodyArrivals: a body that has come to its end counts nothing here, however large its buffer
// is. One that doesn't counts its buffer.
func TestBodyArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newBodyPace(16 << 10) // 128 KiB at once, 32 KiB a second
		read := func(account string, buffer, size int) error {
			x := &exchange{grant: &nodegate.Grant{AccountID: account}}
			err := p.coming(x, buffer)
			if x.body = make([]byte, size); size > 0 {
				p.whole(x)
			}
			return err
		}
		for range 10 {
			if err := read("small", 80<<10, 1<<10); err != nil {
				t.Fatal(err)
			}
		}
		if late := p.arrived.Spend("small", 0, p.arrivals); late != 0 {
			t.Errorf("small bodies in large buffers are %v late", late)
		}
		if err := read("large", 256<<10, 96<<10); err != nil {
			t.Fatal(err)
		}
		if late := p.arrived.Spend("large", 0, p.arrivals); late != 0 {
			t.Errorf("an account with a whole body is %v late", late)
		}
		if err := read("unfinished", 256<<10, 0); err != nil {
			t.Fatal(err)
		}
		if err := read("unfinished", 256<<10, 0); !errors.Is(err, nodegate.AccountBusy) {
			t.Errorf("the next body after one that did not end: %v", err)
		}
	})
}
