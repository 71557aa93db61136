package nodes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/dbtest"
)

// mirror is another address of a node, which can be closed.
func mirror(t *testing.T, to string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }})
	t.Cleanup(s.Close)
	return s
}

// startServers starts servers that share a Redis and have the same nodes.
func startServers(t *testing.T, n int, urls ...string) []*front {
	t.Helper()
	redis := dbtest.Redis(t)
	list := make([]*front, n)
	for i := range list {
		list[i] = startFront(t, fmt.Sprintf("redis: {url: %q}\nnetworks:\n", "redis://"+redis.Addr)+network("main", "", urls...))
	}
	for _, f := range list {
		f.ready(t)
	}
	return list
}

func newPayer(t *testing.T, f *front, from devchain.Account) *payer {
	t.Helper()
	p := &payer{front: f, from: from, chainID: new(big.Int).SetUint64(quantity(t, f.call(t, "main", "eth_chainId", "[]").result))}
	p.nonce = quantity(t, f.call(t, "main", "eth_getTransactionCount", `["`+from.Address.Hex()+`","pending"]`).result)
	return p
}

// setValue changes the demo contract's value, which it logs.
func (p *payer) setValue(t *testing.T, value int64) string {
	t.Helper()
	to := devchain.DemoAddress()
	data := append(crypto.Keccak256([]byte("setValue(uint256)"))[:4], common.BigToHash(big.NewInt(value)).Bytes()...)
	return p.send(t, &types.DynamicFeeTx{
		ChainID: p.chainID, Nonce: p.nonce, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei), Gas: 100_000, To: &to, Data: data,
	})
}

// TestServersAgree: a transaction is sent through one server, its receipt read through a
// second, and its effects through a third.
func TestServersAgree(t *testing.T) {
	node := miner(t)
	servers := startServers(t, 3, node.URL("dev", key), mirror(t, node.URL("dev", key)).URL)
	checkFresh(t, servers, devchain.Accounts()[1], "three servers with Redis")
}

// TestHeadsOfServers: while blocks come, nobody who reads the head from one server after
// the other sees it go back.
func TestHeadsOfServers(t *testing.T) {
	node := miner(t)
	servers := startServers(t, 3, node.URL("dev", key), mirror(t, node.URL("dev", key)).URL)
	stop := make(chan struct{})
	var mining sync.WaitGroup
	mining.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				if _, err := node.try(context.Background(), "dev", "evm_mine", "[]"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	back, n, blocks := 0, 0, uint64(rounds(30, 100))
	first := servers[0].head(t)
	last := first
	for end := time.Now().Add(5 * time.Minute); (n < rounds(2000, 50_000) || last < first+blocks) && time.Now().Before(end); n++ {
		now := servers[n%3].head(t)
		if now < last {
			back++
		}
		last = max(last, now)
	}
	close(stop)
	mining.Wait()
	if back > 0 || last < first+blocks {
		t.Errorf("%d of %d reads go back, from %d to %d", back, n, first, last)
	}
	row(t, 60, "%d of %d heads go back, over three servers and %d blocks", back, n, last-first)
}

// lateNode takes transactions at once, and has them later.
func lateNode(t *testing.T, to string, late time.Duration) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	t.Cleanup(sending.Wait)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut short is no transaction
		var call struct {
			ID     json.RawMessage
			Method string
			Params []string
		}
		if json.Unmarshal(body, &call) != nil || call.Method != "eth_sendRawTransaction" {
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
			return
		}
		sending.Go(func() {
			time.Sleep(late)
			if resp, err := http.Post(to, "application/json", bytes.NewReader(body)); err == nil {
				resp.Body.Close()
			}
		})
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, crypto.Keccak256Hash(common.FromHex(call.Params[0])).Hex())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPendingNonces: who sends through one server reads the next nonce through another,
// although the nodes have the transaction only 300 ms later.
func TestPendingNonces(t *testing.T) {
	node := miner(t)
	servers := startServers(t, 3, lateNode(t, node.URL("dev", key), 300*time.Millisecond), lateNode(t, node.URL("dev", key), 300*time.Millisecond))
	from := devchain.Accounts()[3]
	p := newPayer(t, servers[0], from)
	stale := 0
	for i := range 120 {
		p.front = servers[i%3]
		p.pay(t, common.Address{0xee})
		if got := quantity(t, servers[(i+1)%3].call(t, "main", "eth_getTransactionCount", `["`+from.Address.Hex()+`","pending"]`).result); got != p.nonce {
			stale++
		}
	}
	if stale > 0 {
		t.Errorf("%d of 120 nonces are stale", stale)
	}
	row(t, 60, "%d of 120 pending nonces stale over three servers, nodes 300 ms late", stale)
}

// TestFiltersOfTheService: filters are created through one server and polled through
// three in turn, while a node dies.
func TestFiltersOfTheService(t *testing.T) {
	node := miner(t)
	dying := mirror(t, node.URL("dev", key))
	servers := startServers(t, 3, dying.URL, mirror(t, node.URL("dev", key)).URL)
	p := newPayer(t, servers[0], devchain.Accounts()[2])
	logs := filterID(t, servers[0], "eth_newFilter", fmt.Sprintf(`[{"address":"%s"}]`, devchain.DemoAddress().Hex()))
	blocks := filterID(t, servers[1], "eth_newBlockFilter", "[]")
	begun := servers[0].head(t)
	var values, hashes []string
	for i := range 12 {
		if i == 6 {
			dying.CloseClientConnections()
			dying.Close()
		}
		p.front = servers[i%3]
		p.mined(t, p.setValue(t, int64(1000+i)))
		f := servers[(i+1)%3]
		for _, raw := range changes(t, f, logs) {
			var log struct{ Data string }
			if err := json.Unmarshal(raw, &log); err != nil {
				t.Fatal(err)
			}
			values = append(values, log.Data)
		}
		for _, raw := range changes(t, servers[(i+2)%3], blocks) {
			hashes = append(hashes, string(raw))
		}
	}
	for i := range 12 {
		if want := common.BigToHash(big.NewInt(int64(1000 + i))).Hex(); len(values) != 12 || values[i] != want {
			t.Fatalf("the logs are %v", values)
		}
	}
	for i, hash := range hashes {
		block := servers[i%3].call(t, "main", "eth_getBlockByNumber", fmt.Sprintf(`["%s",false]`, hexutil.EncodeUint64(begun+1+uint64(i)))).result
		if !strings.Contains(block, `"hash":`+hash) {
			t.Fatalf("block %d of the filter is %s", i, hash)
		}
	}
	if len(hashes) != 12 {
		t.Errorf("%d blocks", len(hashes))
	}
	if got := servers[2].call(t, "main", "eth_uninstallFilter", "["+logs+"]").result; got != "true" {
		t.Errorf("uninstalled on another server: %s", got)
	}
	row(t, 57, "12 polls over three servers, a node killed: %d logs and %d blocks of 12, in order", len(values), len(hashes))
}

func filterID(t *testing.T, f *front, method, params string) string {
	t.Helper()
	a := f.call(t, "main", method, params)
	if a.result == "" {
		t.Fatalf("%s: %+v", method, a)
	}
	return a.result
}

func changes(t *testing.T, f *front, id string) (list []json.RawMessage) {
	t.Helper()
	a := f.call(t, "main", "eth_getFilterChanges", "["+id+"]")
	if err := json.Unmarshal([]byte(a.result), &list); err != nil {
		t.Fatalf("eth_getFilterChanges: %+v", a)
	}
	return list
}
