package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/otterscan"
	"github.com/nodegate/nodegate/internal/rpc/chain/parity"
	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// maxQueryBlocks is how many blocks one query may span where no setting says so.
const maxQueryBlocks = 10_000

// traceAPIs are the namespaces that execute transactions again: trace, and those of
// Otterscan. Senders and the cap on gas are known later in the start.
func (e *engine) traceAPIs(cfg Config, apis []rpc.API) []rpc.API {
	e.replay = &replay.Chain{BlockChain: e.eth.BlockChain(), Behind: func(a common.Address) (common.Address, bool) {
		return e.producer.senders.sender(a)
	}}
	limits := parity.Limits{Blocks: cmp.Or(cfg.QueryBlocks, maxQueryBlocks), Gas: minGasCap}
	list := []rpc.API{{Namespace: "trace", Service: parity.New(e.replay, callReader((*tracers.API).TraceCall), limits)}}
	for _, api := range apis {
		if eth, ok := api.Service.(otterscan.Eth); ok {
			ots := otterscan.New(e.replay, eth, limits.Blocks)
			return append(list, rpc.API{Namespace: "ots", Service: ots}, rpc.API{Namespace: "erigon", Service: ots.Erigon()})
		}
	}
	return list // and the start fails, as methods of the table are missing
}

// callReader reads call objects into go-ethereum's own type. The type is internal to
// go-ethereum, and known by the method that takes it.
func callReader[A any, P interface {
	*A
	CallDefaults(gasCap uint64, baseFee, chainID *big.Int) error
	ToMessage(baseFee *big.Int, skipNonceCheck bool) *core.Message
	ToTransaction(defaultType int) *types.Transaction
}](func(*tracers.API, context.Context, A, *rpc.BlockNumberOrHash, *tracers.TraceCallConfig) (any, error)) func([]byte) (parity.CallArgs, error) {
	return func(raw []byte) (parity.CallArgs, error) {
		args := P(new(A))
		return args, json.Unmarshal(raw, args)
	}
}
