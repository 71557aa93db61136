package rollup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const maxArguments = 3

// request is one layer2_estimateGas call. The layer above has checked and
// canonicalised its parts, so they travel on to the node below as they are.
type request struct {
	call      call
	block     block
	overrides map[common.Address]override
	raw       []json.RawMessage // call, block and overrides, for eth_estimateGas
	size      int               // of its parameters
}

// call is a call object. A nil field was not given.
type call struct {
	From                 *common.Address `json:"from"`
	To                   *common.Address `json:"to"`
	GasPrice             *hexutil.Big    `json:"gasPrice"`
	MaxFeePerGas         *hexutil.Big    `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.Big    `json:"maxPriorityFeePerGas"`
	MaxFeePerBlobGas     *hexutil.Big    `json:"maxFeePerBlobGas"`
	Value                *hexutil.Big    `json:"value"`
	Nonce                *hexutil.Uint64 `json:"nonce"`
	ChainID              *hexutil.Big    `json:"chainId"`
	Input                *hexutil.Bytes  `json:"input"`
	Data                 *hexutil.Bytes  `json:"data"`
	AccessList           []accessTuple   `json:"accessList"`
	AuthorizationList    []authorization `json:"authorizationList"`
	BlobVersionedHashes  json.RawMessage `json:"blobVersionedHashes"`
	Blobs                json.RawMessage `json:"blobs"`
}

type accessTuple struct {
	Address     common.Address `json:"address"`
	StorageKeys []common.Hash  `json:"storageKeys"`
}

type authorization struct {
	ChainID hexutil.Big    `json:"chainId"`
	Address common.Address `json:"address"`
	Nonce   hexutil.Uint64 `json:"nonce"`
	YParity hexutil.Uint64 `json:"yParity"`
	R       hexutil.Big    `json:"r"`
	S       hexutil.Big    `json:"s"`
}

// override is the part of a state override that decides whether the sender can pay.
type override struct {
	Balance *hexutil.Big `json:"balance"`
}

func parseRequest(params []byte) (*request, error) {
	args, err := splitParams(params)
	if err != nil {
		return nil, err
	}
	req := &request{raw: args, size: len(params)}
	if err := json.Unmarshal(args[0], &req.call); err != nil {
		return nil, badArgument(0, err)
	}
	if err := req.call.check(); err != nil {
		return nil, badArgument(0, err)
	}
	if req.block, err = parseBlock(args[1]); err != nil {
		return nil, badArgument(1, err)
	}
	if len(args) == maxArguments {
		if err := json.Unmarshal(args[2], &req.overrides); err != nil {
			return nil, badArgument(2, err)
		}
	}
	return req, nil
}

// splitParams yields the call, the block and, when given, the overrides. A null
// in an optional place counts as not given, as in Geth.
func splitParams(params []byte) ([]json.RawMessage, error) {
	var args []json.RawMessage
	if len(params) > 0 {
		if err := json.Unmarshal(params, &args); err != nil {
			return nil, badParams("non-array args")
		}
	}
	switch {
	case len(args) > maxArguments:
		return nil, badParams(fmt.Sprintf("too many arguments, want at most %d", maxArguments))
	case len(args) == 0 || isNull(args[0]):
		return nil, badParams("missing value for required argument 0")
	}
	if len(args) == maxArguments && isNull(args[2]) {
		args = args[:2]
	}
	if len(args) == 1 {
		args = append(args, nil)
	}
	if isNull(args[1]) {
		args[1] = json.RawMessage(`"latest"`)
	}
	return args, nil
}

// isNull also takes an empty message for null: it is what is not there.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

func (c *call) check() error {
	dynamic := c.MaxFeePerGas != nil || c.MaxPriorityFeePerGas != nil || c.MaxFeePerBlobGas != nil
	if c.GasPrice != nil && dynamic {
		return errors.New("both gasPrice and (maxFeePerGas, maxPriorityFeePerGas or maxFeePerBlobGas) specified")
	}
	if c.MaxFeePerBlobGas != nil || !isNull(c.BlobVersionedHashes) || !isNull(c.Blobs) {
		return errors.New("blob transactions are not supported by the rollup")
	}
	return nil
}

// payload is the call's data, under either of its names.
func (c *call) payload() []byte {
	switch {
	case c.Input != nil:
		return *c.Input
	case c.Data != nil:
		return *c.Data
	}
	return nil
}
