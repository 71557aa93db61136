package chain

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

// developmentClient is the version that keys with the scope development see. Hardhat's
// network helpers refuse to work on a client that doesn't begin like this.
func developmentClient() string { return "HardhatNetwork/" + web3API{}.ClientVersion() }

// metadata is hardhat_metadata. The chain forks no other one.
func (d *devMethods) metadata(context.Context, *method.Row, []json.RawMessage) ([]byte, error) {
	bc := d.engine.eth.BlockChain()
	head := bc.CurrentBlock()
	return json.Marshal(map[string]any{
		"clientVersion": developmentClient(), "chainId": bc.Config().ChainID.Uint64(), "instanceId": bc.Genesis().Hash(),
		"latestBlockNumber": head.Number.Uint64(), "latestBlockHash": head.Hash(),
	})
}

// nodeInfo is anvil_nodeInfo.
func (d *devMethods) nodeInfo(context.Context, *method.Row, []json.RawMessage) ([]byte, error) {
	bc := d.engine.eth.BlockChain()
	head := bc.CurrentBlock()
	return json.Marshal(map[string]any{
		"currentBlockNumber": hexutil.Uint64(head.Number.Uint64()), "currentBlockTimestamp": head.Time, "currentBlockHash": head.Hash(),
		"hardFork": bc.Config().LatestFork(head.Time).String(), "transactionOrder": "fees",
		"environment": map[string]any{"baseFee": (*hexutil.Big)(baseFee(head)), "chainId": bc.Config().ChainID.Uint64(), "gasLimit": hexutil.Uint64(head.GasLimit), "gasPrice": (*hexutil.Big)(baseFee(head))},
		"forkConfig":  map[string]any{"forkUrl": nil, "forkBlockNumber": nil, "forkRetryBackoff": nil},
	})
}
