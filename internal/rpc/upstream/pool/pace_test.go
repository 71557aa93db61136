package pool

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mine adds blocks to the fakes' chains at a pace, for a while.
func mine(every, during time.Duration, fakes ...*fake) {
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(every) {
		for _, f := range fakes {
			f.grow(genesisBranch, uint64(len(f.chain)))
		}
	}
}

// TestPollFollowsTheBlockTime: a chain with many blocks is looked at often, one with few
// seldom, and one whose pace nobody knows every second.
func TestPollFollowsTheBlockTime(t *testing.T) {
	for name, c := range map[string]struct {
		every       time.Duration // between blocks; 0: none
		poll        time.Duration
		least, most int // looks at the head in a minute
	}{
		"fast":      {every: 500 * time.Millisecond, least: 180, most: 290},
		"very fast": {every: 50 * time.Millisecond, least: 220, most: 330},
		"slow":      {every: 12 * time.Second, least: 25, most: 45},
		"standing":  {least: 50, most: 75},
		"set":       {every: 500 * time.Millisecond, poll: 5 * time.Second, least: 10, most: 16},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newFake("a", 100)
				var looks atomic.Int64
				a.answer = func(_ context.Context, m string, params []byte) ([]byte, error) {
					if m == "eth_getBlockByNumber" && string(params) == `["latest",false]` {
						looks.Add(1)
					}
					return nil, nil
				}
				openFakes(t, func(cfg *Config) { cfg.Poll = c.poll }, a)
				if c.every > 0 {
					go mine(c.every, 3*time.Minute, a)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				before := looks.Load()
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := int(looks.Load() - before); n < c.least || n > c.most {
					t.Errorf("looked %d times in a minute, want %d to %d", n, c.least, c.most)
				}
				time.Sleep(time.Minute) // mine ends
			})
		})
	}
}

// TestPollTrustsTheSocket: while new blocks come over the WebSocket, only the slow round asks.
func TestPollTrustsTheSocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("ws-a", 100)
		openFakes(t, nil, a)
		go mine(12*time.Second, 3*time.Minute, a)
		time.Sleep(2 * time.Minute)
		before := a.count("eth_chainId")
		blocks := a.count("eth_getBlockByNumber")
		time.Sleep(time.Minute)
		slow := a.count("eth_chainId") - before
		if slow < 8 || slow > 13 {
			t.Errorf("%d slow rounds in a minute", slow)
		}
		// A slow round asks for the head, what is safe, what is final, and once for the seal.
		if n := a.count("eth_getBlockByNumber") - blocks; n > 4*slow {
			t.Errorf("asked for %d blocks in %d slow rounds", n, slow)
		}
		time.Sleep(time.Minute)
	})
}

// TestLooksAfterSending: many transactions at once make few looks at the head.
func TestLooksAfterSending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		p, _ := openFakes(t, func(c *Config) { c.Poll = time.Minute }, a) // its own looks don't count
		settle()
		n := p.nodes.all()[0]
		before := a.count("eth_getBlockByNumber")
		for range 100 {
			go p.ask.lookAfterSending(t.Context(), n)
		}
		synctest.Wait()
		if looked := a.count("eth_getBlockByNumber") - before; looked != 1 {
			t.Errorf("looked %d times at once", looked)
		}
		go p.ask.lookAfterSending(t.Context(), n)
		go p.ask.lookAfterSending(t.Context(), n)
		time.Sleep(sendPause)
		synctest.Wait()
		if looked := a.count("eth_getBlockByNumber") - before; looked != 2 {
			t.Errorf("looked %d times, want once more for what was sent since", looked)
		}
	})
}
