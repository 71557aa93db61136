package chain

import (
	"context"
	"encoding/json"

	"github.com/nodegate/nodegate/internal/method"
)

// capabilities is what go-ethereum says that it keeps, in its order.
type capabilities struct {
	Head        json.RawMessage `json:"head"`
	State       json.RawMessage `json:"state"`
	Tx          json.RawMessage `json:"tx"`
	Logs        json.RawMessage `json:"logs"`
	Receipts    json.RawMessage `json:"receipts"`
	Blocks      json.RawMessage `json:"blocks"`
	StateProofs json.RawMessage `json:"stateproofs"`
}

// capabilities reports logs as kept for as long as receipts. go-ethereum calls them disabled
// where it has no index of logs; they are found in the receipts without one.
func (n *Node) capabilities(ctx context.Context, params []byte) ([]byte, error) {
	result, err := n.ask(ctx, method.EthCapabilities, params)
	if err != nil {
		return nil, err
	}
	var c capabilities
	if err := json.Unmarshal(result, &c); err != nil {
		return nil, internal("go-ethereum's capabilities", err)
	}
	c.Logs = c.Receipts
	return json.Marshal(c)
}
