package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

func ctxFor(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// caller is what a Client and a Socket have in common.
type caller interface {
	Call(ctx context.Context, method string, params []byte) ([]byte, error)
}

func open(t *testing.T, url, ws string) (*client.Client, *client.Socket) {
	t.Helper()
	c, err := client.NewClient(client.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := client.DialSocket(ctxFor(t), client.Config{URL: ws})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return c, s
}

// TestNodegate: a whole nodegate with its embedded chain is the node.
func TestNodegate(t *testing.T) {
	full.Slow(t)
	var name string
	s := harness.Start(t, func(cfg *config.Config) {
		cfg.Networks = cfg.Networks[:1]
		cfg.Networks[0].Embedded.Period = 1
		name = cfg.Networks[0].Name
	})
	http, socket := open(t, s.URL(name, harness.KeyA), s.WS(name, harness.KeyA))
	for _, c := range []caller{http, socket} {
		checkNode(t, c)
	}
	checkHeads(t, socket)
	wrong, err := client.NewClient(client.Config{URL: s.URL(name, strings.Repeat("0", 32))})
	if err != nil {
		t.Fatal(err)
	}
	var fault *client.Fault
	if _, err := wrong.Call(ctxFor(t), "eth_chainId", nil); !errors.As(err, &fault) || fault.Status != 401 {
		t.Errorf("with a wrong key: %v", err)
	}
	if _, err := client.DialSocket(ctxFor(t), client.Config{URL: s.WS(name, strings.Repeat("0", 32))}); !errors.As(err, &fault) || fault.Status != 401 {
		t.Errorf("a socket with a wrong key: %v", err)
	}
}

func checkNode(t *testing.T, c caller) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got, err := c.Call(ctxFor(t), "eth_chainId", nil); err != nil || !strings.HasPrefix(string(got), `"0x`) {
					t.Errorf("%T: %s, %v", c, got, err)
				}
			}
		})
	}
	all.Wait()
	block, err := c.Call(ctxFor(t), "eth_getBlockByNumber", []byte(`["latest",true]`))
	if err != nil || !json.Valid(block) {
		t.Errorf("%T: %s, %v", c, block, err)
	}
	var call *client.CallError
	if _, err := c.Call(ctxFor(t), "eth_nope", nil); !errors.As(err, &call) || call.Code != -32601 {
		t.Errorf("%T: %v", c, err)
	}
	if _, err := c.Call(ctxFor(t), "eth_getBlockByNumber", []byte(`["nope"]`)); !errors.As(err, &call) || call.Code != -32602 {
		t.Errorf("%T: %v", c, err)
	}
}

// checkHeads reads new heads: numbers that follow each other.
func checkHeads(t *testing.T, s *client.Socket) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctxFor(t))
	sub, err := s.Subscribe(ctx, []byte(`["newHeads"]`))
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for range 3 {
		var head struct{ Number string }
		if err := json.Unmarshal(<-sub.C, &head); err != nil {
			t.Fatalf("%v; %v", err, sub.Err())
		}
		var number uint64
		if _, err := fmt.Sscanf(head.Number, "0x%x", &number); err != nil || last != 0 && number != last+1 {
			t.Errorf("head %s after %d", head.Number, last)
		}
		last = number
	}
	cancel()
	for range sub.C {
	}
	if !errors.Is(sub.Err(), context.Canceled) || s.Err() != nil {
		t.Errorf("ended with %v, the socket with %v", sub.Err(), s.Err())
	}
	var call *client.CallError
	if _, err := s.Subscribe(ctxFor(t), []byte(`["nope"]`)); !errors.As(err, &call) {
		t.Errorf("an unknown subscription: %v", err)
	}
}

// counter is a service of go-ethereum's RPC server.
type counter struct{}

func (counter) Large(n int) string      { return strings.Repeat("x", n) }
func (counter) Fail() error             { return errors.New("it failed") }
func (counter) Echo(a, b string) string { return a + b }

// Subscription sends n events, the first half of them before its caller has the answer.
func (counter) Subscription(ctx context.Context, n int) (*rpc.Subscription, error) {
	notifier, ok := rpc.NotifierFromContext(ctx)
	if !ok {
		return nil, rpc.ErrNotificationsUnsupported
	}
	sub := notifier.CreateSubscription()
	for i := range n / 2 {
		_ = notifier.Notify(sub.ID, i)
	}
	go func() {
		for i := n / 2; i < n; i++ {
			_ = notifier.Notify(sub.ID, i)
		}
	}()
	return sub, nil
}

// TestGoEthereum: go-ethereum's RPC server, which Geth and Erigon have, is the node.
func TestGoEthereum(t *testing.T) {
	server := rpc.NewServer()
	defer server.Stop()
	if err := server.RegisterName("eth", counter{}); err != nil {
		t.Fatal(err)
	}
	web, socket := httptest.NewServer(server), httptest.NewServer(server.WebsocketHandler([]string{"*"}))
	defer web.Close()
	defer socket.Close()
	c, s := open(t, web.URL, "ws"+strings.TrimPrefix(socket.URL, "http"))
	for _, node := range []caller{c, s} {
		if got, err := node.Call(ctxFor(t), "eth_echo", []byte(`["<a>","\u00e9\n"]`)); err != nil || !json.Valid(got) {
			t.Errorf("%T: %s, %v", node, got, err)
		}
		for _, n := range []int{0, 1, 4000, 8192, 100_000, 10_000_000} {
			got, err := node.Call(ctxFor(t), "eth_large", fmt.Appendf(nil, "[%d]", n))
			if err != nil || len(got) != n+2 {
				t.Errorf("%T: %d bytes of %d, %v", node, len(got), n+2, err)
			}
		}
		var call *client.CallError
		if _, err := node.Call(ctxFor(t), "eth_fail", nil); !errors.As(err, &call) || call.Code != -32000 || call.Message != "it failed" {
			t.Errorf("%T: %v", node, err)
		}
	}
	checkCount(t, s)
}

func checkCount(t *testing.T, s *client.Socket) {
	t.Helper()
	const n = 1000
	for range 5 {
		ctx, cancel := context.WithCancel(ctxFor(t))
		sub, err := s.Subscribe(ctx, fmt.Appendf(nil, `["subscription",%d]`, n))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got := <-sub.C; string(got) != fmt.Sprint(i) {
				t.Fatalf("event %d is %s, %v", i, got, sub.Err())
			}
		}
		cancel()
		if _, more := <-sub.C; more {
			t.Error("an event after the end")
		}
	}
}
