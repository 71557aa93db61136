package pool

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

const rawTx = `["0x02c0"]` // an EIP-1559 transaction in form, if not in content

var rawTxHash = `"0x` + hex.EncodeToString(crypto.Keccak256([]byte{2, 0xc0})) + `"`

func sendFakes(n int) (list []*fake) {
	for i := range n {
		f := newFake(string(rune('a'+i)), 100)
		f.answers("eth_sendRawTransaction", rawTxHash, nil)
		list = append(list, f)
	}
	return list
}

func countAll(fakes []*fake, method string) (n int) {
	for _, f := range fakes {
		n += f.count(method)
	}
	return n
}

func TestSend(t *testing.T) {
	for name, c := range map[string]struct {
		results []string
		errs    []error
		want    string
		code    nodegate.Code
	}{
		"taken by all":           {results: []string{rawTxHash, rawTxHash, rawTxHash}, want: rawTxHash},
		"taken by one":           {errs: []error{&client.Fault{Err: errRefused}, &client.Fault{Sent: true, Err: errors.New("cut")}}, results: []string{"", "", rawTxHash}, want: rawTxHash},
		"known to all":           {errs: []error{callError(-32000, "already known"), callError(-32000, "already known"), callError(-32000, "already known")}, want: rawTxHash},
		"known, Nethermind":      {errs: []error{callError(-32010, "AlreadyKnown"), callError(-32010, "AlreadyKnown"), callError(-32010, "AlreadyKnown")}, want: rawTxHash},
		"known, Besu":            {errs: []error{callError(-32000, "Known transaction"), callError(-32000, "Known transaction"), callError(-32000, "Known transaction")}, want: rawTxHash},
		"refused by all":         {errs: []error{callError(-32000, "insufficient funds"), callError(-32000, "insufficient funds"), callError(-32000, "insufficient funds")}, code: nodegate.NodeFault},
		"refused by one, gone":   {errs: []error{callError(-32000, "insufficient funds"), &client.Fault{Err: errRefused}, &client.Fault{Err: errRefused}}, code: nodegate.NodeFault},
		"another nonce":          {errs: []error{callError(-32000, "nonce too low"), callError(-32000, "nonce too low"), callError(-32000, "nonce too low")}, code: nodegate.NodeFault},
		"nobody, bytes were out": {errs: []error{&client.Fault{Sent: true, Err: errors.New("cut")}, &client.Fault{Sent: true, Err: errors.New("cut")}, &client.Fault{Sent: true, Err: errors.New("cut")}}, code: nodegate.NoNode},
		"a lie":                  {results: []string{someHash, someHash, someHash}, code: nodegate.NoNode},
		"rubbish":                {results: []string{"{}", `"0x1"`, "null"}, code: nodegate.NoNode},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				fakes := sendFakes(3)
				for i, f := range fakes {
					if i < len(c.results) {
						f.answers("eth_sendRawTransaction", c.results[i], nil)
					}
					if i < len(c.errs) {
						f.answers("eth_sendRawTransaction", "", c.errs[i])
					}
				}
				p, _ := openFakes(t, nil, fakes...)
				settle()
				got, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx))
				if c.want != "" && (err != nil || string(got) != c.want) {
					t.Errorf("%s, %v; want %s", got, err, c.want)
				}
				if c.want == "" && (err == nil || nodegate.AsError(err).Code != c.code) {
					t.Errorf("%s, %v; want %v", got, err, c.code)
				}
				synctest.Wait()
				if n := countAll(fakes, "eth_sendRawTransaction"); n != 3 {
					t.Errorf("sent %d times to three nodes", n)
				}
			})
		})
	}
}

// TestSendToThree: of many nodes three get a transaction, backups only when no
// primary one can.
func TestSendToThree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := sendFakes(5)
		backup := newFake("f!", 100)
		backup.answers("eth_sendRawTransaction", rawTxHash, nil)
		p, _ := openFakes(t, nil, append(fakes, backup)...)
		settle()
		if _, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n, m := countAll(fakes, "eth_sendRawTransaction"), backup.count("eth_sendRawTransaction"); n != 3 || m != 0 {
			t.Errorf("sent to %d primary and %d backup nodes", n, m)
		}
		for _, f := range fakes {
			f.set(func() { f.down = true })
		}
		if got, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx)); err != nil || string(got) != rawTxHash {
			t.Errorf("%s, %v when only the backup is up", got, err)
		}
		if _, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(`["nonsense"]`)); err == nil {
			t.Error("nonsense was sent")
		}
	})
}

// TestSendOnlyOnce: when bytes were out and nobody answered, no further node gets the
// transaction; when none were, another one does.
func TestSendOnlyOnce(t *testing.T) {
	for name, c := range map[string]struct {
		fault *client.Fault
		sent  int
	}{
		"bytes were out":  {&client.Fault{Sent: true, Err: errors.New("cut")}, 3},
		"no byte was out": {&client.Fault{Err: errRefused}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				fakes := sendFakes(5)
				for _, f := range fakes {
					f.answers("eth_sendRawTransaction", "", c.fault)
				}
				p, _ := openFakes(t, nil, fakes...)
				settle()
				if _, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx)); !errors.Is(err, nodegate.NoNode) {
					t.Errorf("%v", err)
				}
				synctest.Wait()
				if n := countAll(fakes, "eth_sendRawTransaction"); n != c.sent {
					t.Errorf("sent %d times, want %d", n, c.sent)
				}
			})
		})
	}
}

// TestSendGoesOn: the client's leaving does not stop a transaction that is on its way,
// and a hanging node does not hold up one that is taken.
func TestSendGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := sendFakes(3)
		done := make(chan error, 3)
		for i, f := range fakes {
			f.set(func() {
				next := f.answer
				f.answer = func(ctx context.Context, m string, params []byte) ([]byte, error) {
					if m == "eth_sendRawTransaction" && i > 0 {
						time.Sleep(3 * time.Second)
						done <- ctx.Err()
					}
					return next(ctx, m, params)
				}
			})
		}
		p, _ := openFakes(t, nil, fakes...)
		settle()
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		if _, err := p.Call(ctx, "eth_sendRawTransaction", []byte(rawTx)); err != nil || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("the sending to the others was stopped: %v", err)
			}
		}
	})
}

// TestMinedMeanwhile: "nonce too low" for a transaction that the node has is success.
func TestMinedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := sendFakes(1)
		fakes[0].answers("eth_sendRawTransaction", "", callError(-32000, "nonce too low: next nonce 5, tx nonce 4"))
		fakes[0].answers("eth_getTransactionByHash", `{"hash":`+rawTxHash+`}`, nil)
		p, _ := openFakes(t, nil, fakes...)
		settle()
		if got, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx)); err != nil || string(got) != rawTxHash {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// TestReadYourSend: a read of a transaction goes to nodes that took it, for a while.
func TestReadYourSend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := sendFakes(6)
		p, _ := openFakes(t, nil, fakes...)
		settle()
		if _, err := p.Call(t.Context(), "eth_sendRawTransaction", []byte(rawTx)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// Of the three that took it only one shows it so far.
		for _, f := range fakes {
			if f.count("eth_sendRawTransaction") == 1 {
				f.answers("eth_getTransactionByHash", `{"hash":`+rawTxHash+`}`, nil)
				break
			}
		}
		read := []byte(`["0x` + strings.ToUpper(rawTxHash[3:67]) + `"]`)
		for range 20 {
			if got, err := p.Call(t.Context(), "eth_getTransactionByHash", read); err != nil || string(got) == "null" {
				t.Fatalf("%s, %v", got, err)
			}
		}
		for _, f := range fakes {
			if f.count("eth_sendRawTransaction") == 0 && f.count("eth_getTransactionByHash") > 0 {
				t.Error("a node that never saw the transaction was asked")
			}
		}
		time.Sleep(sentFor + 20*time.Second)
		synctest.Wait()
		if len(p.sender.sent.byHash) != 0 || len(p.sender.sent.order) != 0 {
			t.Error("not forgotten")
		}
	})
}

// TestTransactionHash: the blobs that travel with a transaction are not part of it.
func TestTransactionHash(t *testing.T) {
	body, err := rlp.EncodeToBytes([]any{uint64(1), uint64(2), "abc"})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := rlp.EncodeToBytes([]any{rlp.RawValue(body), []string{"blob"}, []string{"c"}, []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `"0x` + hex.EncodeToString(crypto.Keccak256(append([]byte{3}, body...))) + `"`
	for name, raw := range map[string][]byte{"bare": append([]byte{3}, body...), "with blobs": append([]byte{3}, whole...)} {
		if got := transactionHash([]byte(`["0x` + hex.EncodeToString(raw) + `"]`)); string(got) != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, bad := range []string{`[]`, `[1]`, `["0x"]`, `["0x0"]`, `["zz"]`, `{}`, ``} {
		if got := transactionHash([]byte(bad)); got != nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
	if got := transactionHash([]byte(`["0x03"]`)); got == nil {
		t.Error("a blob transaction that can't be read has the hash of its bytes")
	}
}

func TestFilters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fakes := []*fake{newFake("a", 100), newFake("b", 100)}
		for _, f := range fakes {
			f.set(func() {
				f.answer = func(_ context.Context, m string, params []byte) ([]byte, error) {
					switch {
					case m == "eth_newBlockFilter":
						return []byte(`"0x1"`), nil
					case m == "eth_getFilterChanges" && string(params) == `["0x1"]`:
						return []byte(`["` + f.name + `"]`), nil
					case m == "eth_uninstallFilter":
						return []byte("true"), nil
					}
					return nil, nil
				}
			})
		}
		p, _ := openFakes(t, nil, fakes...)
		settle()
		made := map[string]string{} // ids to the nodes
		for range 20 {
			trace := &nodegate.Trace{}
			id, err := p.Call(nodegate.WithTrace(t.Context(), trace), "eth_newBlockFilter", nil)
			if err != nil || made[string(id)] != "" {
				t.Fatalf("%s, %v", id, err)
			}
			made[string(id)] = trace.Node
		}
		changes := func(id string) (string, error) {
			got, err := p.Call(t.Context(), "eth_getFilterChanges", []byte("["+id+"]"))
			return string(got), err
		}
		var ofA, ofB string
		for id, node := range made {
			if got, err := changes(id); err != nil || got != `["`+node+`"]` {
				t.Errorf("the filter of %s: %s, %v", node, got, err)
			}
			if node == "a" {
				ofA = id
			} else {
				ofB = id
			}
		}
		gone := func(id, why string) {
			t.Helper()
			if _, err := changes(id); err == nil || nodegate.AsError(err).Msg != "filter not found" {
				t.Errorf("%s: %v", why, err)
			}
		}
		gone(`"0x1"`, "the node's own id")
		fakes[0].set(func() { fakes[0].down = true })
		gone(ofA, "its node is down")
		fakes[0].set(func() { fakes[0].down = false })
		gone(ofA, "its node was down")
		if _, err := p.Call(t.Context(), "eth_uninstallFilter", []byte("["+ofB+"]")); err != nil {
			t.Error(err)
		}
		gone(ofB, "uninstalled")
		time.Sleep(filterIdle + 20*time.Second)
		synctest.Wait()
		if len(p.filters.byID) != 0 {
			t.Errorf("%d filters that nobody asked for are kept", len(p.filters.byID))
		}
	})
}
