package chaos

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// rawSocket is a WebSocket whose client does as little as it can: the attack must cost
// the server, not the machine that it shares with the test.
type rawSocket struct {
	net.Conn
	in *bufio.Reader
}

// rawDial opens a WebSocket; the status is that of a refused handshake.
func (p *program) rawDial(network, key string) (*rawSocket, int, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(p.rpcBase, "http://"))
	if err != nil {
		return nil, 0, err
	}
	fmt.Fprintf(c, "GET /%s/ws/v3/%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", network, key)
	s := &rawSocket{c, bufio.NewReader(c)}
	res, err := http.ReadResponse(s.in, nil)
	if err == nil && res.StatusCode != http.StatusSwitchingProtocols {
		_ = res.Body.Close()
		err = fmt.Errorf("%s", res.Status)
	}
	if err != nil {
		_ = c.Close()
		if res != nil {
			return nil, res.StatusCode, err
		}
		return nil, 0, err
	}
	return s, res.StatusCode, nil
}

// frames are a message so many times, masked with zeros.
func frames(message string, times int) []byte {
	var b []byte
	for range times {
		b = append(b, 0x81, 0x80|126)
		b = binary.BigEndian.AppendUint16(b, uint16(len(message)))
		b = append(append(b, 0, 0, 0, 0), message...)
	}
	return b
}

// next reads a message of less than 64 KiB.
func (s *rawSocket) next() (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return "", err
	}
	size := int(head[1])
	if size == 126 {
		var long [2]byte
		if _, err := io.ReadFull(s.in, long[:]); err != nil {
			return "", err
		}
		size = int(binary.BigEndian.Uint16(long[:]))
	}
	b := make([]byte, size)
	_, err := io.ReadFull(s.in, b)
	return string(b), err
}

const newHeads = `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`

// subscribers opens sockets with some subscriptions to new blocks each, which read all
// that comes, until the returned function is called. Refused subscriptions are left out.
func subscribers(t *testing.T, p *program, key string, sockets, each int) (open int, end func()) {
	t.Helper()
	var conns []*rawSocket
	for range sockets {
		s, _, err := p.rawDial("devnet", key)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, s)
		_, _ = s.Write(frames(newHeads, each))
		for answers := 0; answers < each; {
			text, err := s.next()
			if err != nil {
				break
			}
			if strings.Contains(text, `"method":"eth_subscription"`) {
				continue // a block came meanwhile
			}
			if answers++; strings.Contains(text, `"result":"0x`) {
				open++
			}
		}
	}
	var wait sync.WaitGroup
	for _, s := range conns {
		wait.Go(func() { _, _ = io.Copy(io.Discard, s) })
	}
	return open, func() {
		for _, s := range conns {
			_ = s.Close()
		}
		wait.Wait()
	}
}

// mine seals blocks at a steady rate until the returned function is called, which
// returns how many it were.
func mine(t *testing.T, p *program, rate int) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		sealed := 0
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if _, err := p.rpc(context.Background(), "devnet", p.key, "evm_mine"); err == nil {
				sealed++
			}
		}
		done <- sealed
	}()
	return func() int {
		cancel()
		return <-done
	}
}

// TestSubscriptionAmplification is row 50: thousands of subscriptions of one account at
// 20 blocks a second, for a paying account without limits and for a free one.
func TestSubscriptionAmplification(t *testing.T) {
	sockets, during := length(4, 16), time.Duration(length(1, 10))*time.Second
	const each, rate = 125, 20
	for _, plan := range []string{"unlimited", "free"} {
		o := begin(t, 50, fmt.Sprintf("%d newHeads subscriptions of one account (plan %s) at %d blocks/s", sockets*each, plan, rate), "honest p99 within 2x of the same blocks without them")
		p := startGate(t, "networks:\n  - {name: devnet, embedded: {}, namespaces: [evm]}\n").program
		p.account("many@example.com", plan)
		p.account("honest@example.com", "unlimited")
		attacker, _ := p.newKey("many@example.com")
		honest, _ := p.newKey("honest@example.com")
		o.contest(t, func() (string, bool) {
			stop := mine(t, p, rate)
			control := p.innocent("devnet", honest, 200, during)
			open, end := subscribers(t, p, attacker, sockets, each)
			attack := p.innocent("devnet", honest, 200, during)
			end()
			blocks := stop()
			if attack.Failed > 0 || blocks == 0 || plan == "unlimited" && open != sockets*each {
				t.Errorf("%d subscriptions; the honest client: %v", open, attack)
			}
			return fmt.Sprintf("alone %v; under attack %v (%d subscriptions, %d blocks)", control, attack, open, blocks), attack.P99 <= 2*control.P99
		})
		p.kill()
	}
}

// TestManyKeys is row 49: what one account can have open with 40 keys is what it can
// have with one.
func TestManyKeys(t *testing.T) {
	const keys, sockets, subs = 40, 60, 90
	o := begin(t, 49, fmt.Sprintf("sockets, subscriptions and calls of one account with 1 key and with %d", keys), "the same share")
	p := newSandbox(t, fmt.Sprintf("NODEGATE_LIMITS_SOCKETS_PER_ACCOUNT=%d", sockets), fmt.Sprintf("NODEGATE_LIMITS_SUBSCRIPTIONS_PER_ACCOUNT=%d", subs)).start()
	p.account("honest@example.com", "unlimited")
	honest, _ := p.newKey("honest@example.com")
	p.account("many@example.com", "unlimited")
	var own []string
	for range length(4, keys) {
		key, _ := p.newKey("many@example.com")
		own = append(own, key)
	}
	o.contest(t, func() (string, bool) {
		during := time.Duration(length(1, 8)) * time.Second
		alone := p.innocent("devnet", honest, 200, during)
		one, oneSockets, oneSubs := storm(t, p, own[:1], honest, sockets, during)
		many, manySockets, manySubs := storm(t, p, own, honest, sockets, during)
		if oneSockets != sockets || manySockets != sockets || oneSubs != subs || manySubs != subs {
			t.Errorf("sockets %d and %d of %d, subscriptions %d and %d of %d", oneSockets, manySockets, sockets, oneSubs, manySubs, subs)
		}
		if one.Failed+many.Failed > 0 {
			t.Errorf("the honest client: %v, %v", one, many)
		}
		return fmt.Sprintf("%d sockets and %d subscriptions both times; honest alone %v, beside 1 key %v, beside %d keys %v",
			manySockets, manySubs, alone, one, len(own), many), many.P99 <= 2*one.P99
	})
}

// storm opens all sockets and subscriptions that an account gets with some keys, has all
// its sockets call without a pause, and returns what an honest client saw meanwhile.
func storm(t *testing.T, p *program, keys []string, honest string, most int, during time.Duration) (f figures, sockets, subs int) {
	t.Helper()
	var conns []*rawSocket
	for i := range most + 10 {
		s, status, err := p.rawDial("devnet", keys[i%len(keys)])
		if err != nil {
			if status != http.StatusTooManyRequests {
				t.Errorf("a handshake beyond the share: %v", err)
			}
			continue
		}
		conns = append(conns, s)
		_, _ = s.Write(frames(newHeads, 2))
		for range 2 {
			if text, err := s.next(); err == nil && strings.Contains(text, `"result":"0x`) {
				subs++
			}
		}
	}
	var wait sync.WaitGroup
	const inFlight = 8
	burst := frames(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`, inFlight)
	for _, s := range conns {
		wait.Go(func() {
			for {
				if _, err := s.Write(burst); err != nil {
					return
				}
				for range inFlight {
					if _, err := s.next(); err != nil {
						return
					}
				}
			}
		})
	}
	f = p.innocent("devnet", honest, 200, during)
	for _, s := range conns {
		_ = s.Close()
	}
	wait.Wait()
	time.Sleep(200 * time.Millisecond) // the server notices that they have gone
	return f, len(conns), subs
}
