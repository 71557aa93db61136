package proven

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// header is a header that hashes to its hash.
type header struct {
	*verify.Header
	block *native.Block // what calls are executed on; nil where they aren't, or can't be
}

var (
	errNoBlock = errors.New("there is no such block")
	errHeader  = &nodegate.Error{
		Op: "proven.header", Code: nodegate.Unverified,
		Msg: "this network only returns proven state, and the header of this block can't be proven",
	}
)

// header finds the header of a block. One of the newest blocks is asked for by the hash that
// the nodes reported, so that no single node can make up another.
//
// Returns errNoBlock if there is none.
func (n *Node) header(ctx context.Context, b *block, w *work) (*header, error) {
	if b.by == byHash {
		return n.headerByHash(ctx, b.hash, w)
	}
	number := b.number
	if b.by == byLatest {
		head, err := n.next.Head(ctx)
		if err != nil {
			return nil, err
		}
		number = head.Number
	}
	if n.cfg.Hash != nil {
		if hash, ok := n.cfg.Hash(number); ok {
			if h, err := n.headerByHash(ctx, hash, w); err == nil && h.Number == number {
				return h, nil
			}
		}
	}
	h, err := n.readHeader(ctx, method.EthGetBlockByNumber, hexjson.Number(number), w)
	if err == nil && h.Number != number {
		return nil, errHeader
	}
	return h, err
}

func (n *Node) headerByHash(ctx context.Context, hash [32]byte, w *work) (*header, error) {
	if h := n.store.header(hash); h != nil {
		return h, nil
	}
	h, err := n.readHeader(ctx, method.EthGetBlockByHash, quoted(hash[:]), w)
	if err != nil {
		return nil, err
	}
	if h.Hash != hash {
		return nil, errHeader
	}
	n.store.keepHeader(h)
	return h, nil
}

// readHeader asks for a block: the ledger, or the nodes.
func (n *Node) readHeader(ctx context.Context, name, block string, w *work) (*header, error) {
	var t nodegate.Trace
	raw, err := n.next.Call(nodegate.WithTrace(ctx, &t), name, []byte(`[`+block+`,false]`))
	w.add(&t)
	switch {
	case err != nil:
		return nil, err
	case string(raw) == "null":
		return nil, errNoBlock
	}
	h, f := n.checker.Read(raw)
	if f != nil || h == nil {
		return nil, errHeader
	}
	found := &header{Header: h}
	if n.cfg.Machine != nil {
		found.block, _ = n.cfg.Machine.Block(raw, h.Hash)
	}
	return found, nil
}

func quoted(b []byte) string { return `"0x` + hex.EncodeToString(b) + `"` }
