package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate"
)

// web3API is the web3_ namespace. go-ethereum's own would present the service
// under the name of a folder.
type web3API struct{}

// ClientVersion names the service as clients expect it: name, platform, Go.
func (web3API) ClientVersion() string {
	return "nodegate/" + runtime.GOOS + "-" + runtime.GOARCH + "/" + runtime.Version()
}

// Sha3 hashes with Keccak-256.
func (web3API) Sha3(input hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(input) }

// newRPC registers the node's services on a server of our own: just these, and
// nothing of the node's administration.
func newRPC(apis []rpc.API) (*rpc.Server, error) {
	server := rpc.NewServer()
	server.SetHTTPBodyLimit(1 << 30) // bodies were bounded at the edge
	for _, api := range append(apis, rpc.API{Namespace: "web3", Service: web3API{}}) {
		if err := server.RegisterName(api.Namespace, api.Service); err != nil {
			return nil, fmt.Errorf("register %s: %w", api.Namespace, err)
		}
	}
	return server, nil
}

// subscribeError maps an error of go-ethereum's RPC client.
func subscribeError(err error) error {
	var coded rpc.Error
	if !errors.As(err, &coded) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nodegate.ErrTimeout("chain.subscribe", err)
		}
		return internal("go-ethereum's subscription failed", err)
	}
	return nodeError(coded.ErrorCode(), err.Error(), nil)
}

// rawArgs splits parameters; go-ethereum checks each against its own types.
func rawArgs(params []byte) ([]any, error) {
	if len(params) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(params, &list); err != nil {
		return nil, &nodegate.Error{Op: "chain.subscribe", Code: nodegate.InvalidParams, Msg: "non-array args", Err: err}
	}
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i]
	}
	return args, nil
}

func internal(what string, cause any) error {
	return &nodegate.Error{Op: "chain.call", Code: nodegate.Internal, Msg: "internal error", Err: fmt.Errorf("%s: %v", what, cause)}
}
