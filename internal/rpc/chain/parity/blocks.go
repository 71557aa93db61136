package parity

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// byNumber finds a block. Nothing happens in the first one, whose transactions are none.
func (a *API) byNumber(n rpc.BlockNumber) (*types.Block, error) {
	number := a.chain.Number(n)
	if block := a.chain.GetBlockByNumber(number); block != nil {
		return block, nil
	}
	return nil, fmt.Errorf("could not find block %d", number)
}

// at finds a block by its number, tag or hash.
func (a *API) at(ref rpc.BlockNumberOrHash) (*types.Block, error) {
	hash, ok := ref.Hash()
	if !ok {
		return a.byNumber(*ref.BlockNumber)
	}
	block := a.chain.GetBlockByHash(hash)
	if block == nil {
		return nil, fmt.Errorf("block %x not found", hash)
	}
	if ref.RequireCanonical && a.chain.GetCanonicalHash(block.NumberU64()) != hash {
		return nil, fmt.Errorf("hash %x is not currently canonical", hash)
	}
	return block, nil
}

// header finds the block on which calls are executed; the newest one where none is named.
func (a *API) header(ref *rpc.BlockNumberOrHash) (*types.Header, error) {
	if ref == nil {
		return a.chain.CurrentBlock(), nil
	}
	block, err := a.at(*ref)
	if err != nil {
		return nil, err
	}
	return block.Header(), nil
}
