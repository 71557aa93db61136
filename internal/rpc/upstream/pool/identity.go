package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// identity is which chain the network is: configured, or as the first node says.
type identity struct {
	mu      sync.Mutex
	chain   uint64 // 0: not known yet
	genesis string // "": not known yet
}

// is tells whether an id is the network's.
func (i *identity) is(chain uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.chain == chain
}

// admit compares a node with the network, or makes the network what the node is. A
// node that can't show its first block has genesis "".
func (i *identity) admit(chain uint64, genesis string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.chain == 0 {
		i.chain = chain
	}
	if i.chain != chain {
		return foreign(fmt.Sprintf("chain id %d instead of %d", chain, i.chain))
	}
	if i.genesis == "" {
		i.genesis = genesis
	}
	if genesis != "" && genesis != i.genesis {
		return foreign("its genesis block differs from the network's")
	}
	return nil
}

// foreign is the error of a node that belongs to another chain.
type foreign string

func (f foreign) Error() string { return "the node serves another chain: " + string(f) }

var errNoBlock = errors.New("the node's block can't be read")

// identify checks which chain a node is of, and asks what it is.
func (h *health) identify(ctx context.Context, n *node) error {
	chain, err := h.chainID(ctx, n)
	if err != nil {
		return err
	}
	genesis := ""
	raw, err := h.ask.look(ctx, n, method.EthGetBlockByNumber, `["0x0",false]`)
	var refused *client.CallError
	switch {
	case errors.As(err, &refused):
		h.log.Warn("node doesn't return its genesis block: only its chain ID is checked", "node", n.cfg.Name, "err", n.clean(err))
	case err != nil:
		return err
	default:
		first, ok := heads.Read(raw)
		if !ok || first.Number != 0 {
			return errNoBlock
		}
		genesis = first.Hash
	}
	if err := h.identity.admit(chain, genesis); err != nil {
		return err
	}
	if raw, err := h.ask.look(ctx, n, method.Web3ClientVersion, ""); err == nil {
		if version, ok := jsonrpc.String(raw); ok {
			n.mu.Lock()
			n.client = client.Printable(string(version), 100)
			n.mu.Unlock()
		}
	}
	return nil
}

func (h *health) chainID(ctx context.Context, n *node) (uint64, error) {
	raw, err := h.ask.look(ctx, n, method.EthChainID, "")
	if err != nil {
		return 0, err
	}
	chain, ok := hexjson.Quantity(raw)
	if !ok || chain == 0 {
		return 0, errors.New("the node's chain id can't be read")
	}
	return chain, nil
}
