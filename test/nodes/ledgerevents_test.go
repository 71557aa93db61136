package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// withoutLogs stands before a node and refuses what has to do with logs and filters.
func withoutLogs(t *testing.T, to string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, word := range []string{`"eth_getLogs"`, `Filter`, `"eth_subscribe"`} {
			if bytes.Contains(body, []byte(word)) {
				var call struct{ ID json.RawMessage }
				_ = json.Unmarshal(body, &call)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the method does not exist/is not available"}}`, call.ID)
				return
			}
		}
		passOn(w, to, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// events subscribes on a server.
func events(t *testing.T, url string, args ...any) <-chan json.RawMessage {
	t.Helper()
	client, err := rpc.DialContext(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	list := make(chan json.RawMessage, 100)
	if _, err := client.EthSubscribe(t.Context(), list, args...); err != nil {
		t.Fatal(err)
	}
	return list
}

func next(t *testing.T, what string, list <-chan json.RawMessage) string {
	t.Helper()
	select {
	case event := <-list:
		return string(event)
	case <-time.After(time.Minute):
		t.Fatal("no event: " + what)
	}
	return ""
}

// TestLedgerEvents: filters and subscriptions of new blocks are answered from the ledger, with the
// bytes of the node. It was not asked for a log: it refuses that.
func TestLedgerEvents(t *testing.T) {
	node := miner(t)
	f := startFront(t, "networks:\n"+network("main", withLedger, withoutLogs(t, node.URL("dev", key))))
	f.ready(t)
	f.untilLedger(t, "main", height(t, node, "dev"))
	criteria := map[string]any{"address": devchain.DemoAddress()}
	logs, sameLogs := events(t, f.WS("main", key), "logs", criteria), events(t, node.WS("dev", key), "logs", criteria)
	heads, sameHeads := events(t, f.WS("main", key), "newHeads"), events(t, node.WS("dev", key), "newHeads")
	filter := fmt.Sprintf(`[{"fromBlock":"0x0","address":"%s"}]`, devchain.DemoAddress().Hex())
	id, same := filterID(t, f, "eth_newFilter", filter), node.call(t, "dev", "eth_newFilter", filter).result
	blocks, sameBlocks := filterID(t, f, "eth_newBlockFilter", "[]"), node.call(t, "dev", "eth_newBlockFilter", "[]").result
	p := newPayer(t, f, devchain.Accounts()[2])
	const rounds = 5
	for i := range rounds {
		hash := p.setValue(t, int64(5000+i))
		if got, want := next(t, "logs", logs), next(t, "the node's logs", sameLogs); got != want {
			t.Errorf("the log is %s\nthe node's %s", got, want)
		}
		if got, want := next(t, "newHeads", heads), next(t, "the node's newHeads", sameHeads); got != want {
			t.Errorf("the head is %s\nthe node's %s", got, want)
		}
		f.untilLedger(t, "main", p.mined(t, hash))
		for _, poll := range []struct{ method, mine, its string }{
			{"eth_getFilterChanges", id, same}, {"eth_getFilterLogs", id, same}, {"eth_getFilterChanges", blocks, sameBlocks},
		} {
			got, want := f.call(t, "main", poll.method, "["+poll.mine+"]"), node.call(t, "dev", poll.method, "["+poll.its+"]")
			if got.result != want.result || got.result == "" {
				t.Errorf("%s is %s %s\nthe node's %s", poll.method, got.result, got.error, want.result)
			}
		}
	}
	t.Logf("%d rounds: a log, a head, and 3 polls of filters each, the same as the node's", rounds)
}

// wrongLogs stands before a node and, while wrong is set, changes what its logs say.
func wrongLogs(t *testing.T, to string) (url string, wrong *atomic.Bool) {
	t.Helper()
	wrong = new(atomic.Bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := httptest.NewRecorder()
		passOn(said, to, body)
		answer := said.Body.Bytes()
		if wrong.Load() {
			answer = bytes.ReplaceAll(answer, []byte(`"data":"0x0000`), []byte(`"data":"0x00ff`))
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, wrong
}

// TestProvenEvents: a network that gives verified responses only has subscriptions to what follows
// the chain. Their events have the bytes of an honest node, and while its own node says something
// else about logs there are none. Pending transactions can't be proven.
func TestProvenEvents(t *testing.T) {
	node := miner(t)
	liar, wrong := wrongLogs(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("proven", withLedger+"    require_verified: roots\n", liar)+network("main", "    dialect: standard\n", node.URL("dev", key)))
	f.ready(t)
	f.untilLedger(t, "proven", height(t, node, "dev"))
	if err := subscribeError(t, f.WS("proven", key), "newPendingTransactions"); err == nil || !strings.HasPrefix(err.Error(), "this network only returns verified responses") {
		t.Errorf("pending transactions: %v", err)
	}
	kinds := [][]any{{"logs", map[string]any{"address": devchain.DemoAddress()}}, {"newHeads"}, {"transactionReceipts"}}
	var mine, its []<-chan json.RawMessage
	for _, args := range kinds {
		mine, its = append(mine, events(t, f.WS("proven", key), args...)), append(its, events(t, node.WS("dev", key), args...))
	}
	p := newPayer(t, f, devchain.Accounts()[2])
	for i := range 4 {
		wrong.Store(i == 2)
		p.setValue(t, int64(7000+i))
		if wrong.Load() {
			time.Sleep(time.Second) // the block is known, and events of it would come
			wrong.Store(false)
		}
		for j, args := range kinds {
			if got, want := next(t, args[0].(string), mine[j]), next(t, "the node's", its[j]); got != want {
				t.Errorf("%s: the event is %s\nthe node's %s", args[0], got, want)
			}
		}
	}
}

func subscribeError(t *testing.T, url string, args ...any) error {
	t.Helper()
	client, err := rpc.DialContext(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.EthSubscribe(t.Context(), make(chan json.RawMessage), args...)
	return err
}
