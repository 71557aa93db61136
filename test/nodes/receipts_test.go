package nodes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// TestReceiptSubscriptions: the receipts of new blocks arrive through a node that has no
// WebSocket address, each as eth_getTransactionReceipt shows it.
func TestReceiptSubscriptions(t *testing.T) {
	node := miner(t)
	f := startFront(t, fmt.Sprintf("networks:\n  - name: main\n    nodes: [{name: n0, url: %q}]\n", node.URL("dev", key)))
	f.ready(t)
	client, err := rpc.DialContext(t.Context(), f.WS("main", key))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	events := make(chan []json.RawMessage, 100)
	sub, err := client.EthSubscribe(t.Context(), events, "transactionReceipts", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	p := newPayer(t, f, devchain.Accounts()[3])
	for i := range 5 {
		hash := p.pay(t, common.BytesToAddress(fmt.Append(nil, "receipts", i)))
		p.mined(t, hash)
		want := p.call(t, "main", "eth_getTransactionReceipt", `["`+hash+`"]`).result
		for found := false; !found; {
			select {
			case list := <-events:
				for _, r := range list {
					if found = strings.Contains(string(r), hash); found && string(r) != want {
						t.Errorf("the event is %s\nthe receipt %s", r, want)
					}
				}
			case err := <-sub.Err():
				t.Fatal("the subscription ended: ", err)
			case <-time.After(20 * time.Second):
				t.Fatal("no event of " + hash)
			}
		}
	}
}
