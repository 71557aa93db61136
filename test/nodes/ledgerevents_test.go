package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
