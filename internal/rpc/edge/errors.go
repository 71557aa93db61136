package edge

import (
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// numbers is the one table from codes to JSON-RPC error codes.
//
// Clients replace the message of a code that EIP-1474 names (-32000 to -32006) by its
// own words: viem calls -32001 "resource not found" and -32003 "transaction creation
// failed". Errors that none of these words fits have a code that no client translates,
// from -32041 for 401 to -32045. docs/compatibility.md has what each client prints.
var numbers = map[nodegate.Code]int{
	nodegate.Internal:            -32603,
	nodegate.ParseError:          -32700,
	nodegate.InvalidRequest:      -32600,
	nodegate.MethodNotFound:      -32601,
	nodegate.InvalidParams:       -32602,
	nodegate.Reverted:            3,
	nodegate.ExecutionFailed:     -32000,
	nodegate.NodeFault:           -32000, // the error's own Number comes first
	nodegate.OutsideHistory:      -32002,
	nodegate.Unverified:          -32002,
	nodegate.Timeout:             -32002,
	nodegate.ResponseTooLarge:    -32045,
	nodegate.NoNode:              -32603,
	nodegate.Busy:                -32603,
	nodegate.KeyRequired:         -32041,
	nodegate.KeyInvalid:          -32041,
	nodegate.SecretInvalid:       -32041,
	nodegate.Forbidden:           -32043,
	nodegate.UnknownNetwork:      -32001,
	nodegate.RateLimited:         -32005,
	nodegate.CreditsSpent:        -32042,
	nodegate.AccountBusy:         -32005,
	nodegate.HTTPMethod:          -32600,
	nodegate.TooLarge:            -32600,
	nodegate.MediaType:           -32600,
	nodegate.UpgradeRequired:     -32600,
	nodegate.InvalidInput:        -32602, // these six belong to the control plane
	nodegate.NotFound:            -32001,
	nodegate.Conflict:            -32000,
	nodegate.SignInFailed:        -32041,
	nodegate.CardDeclined:        -32042,
	nodegate.CardRequired:        -32042,
	nodegate.QuotaReached:        -32002, // these three belong to the storage gateway
	nodegate.InsufficientStorage: -32000,
	nodegate.Damaged:             -32000,
	nodegate.Mismatch:            -32000,
	nodegate.BadConfig:           -32603,
}

// number maps an error to its JSON-RPC code.
func number(e *nodegate.Error) int {
	if e.Code == nodegate.NodeFault && e.Number != 0 {
		return e.Number
	}
	if n, ok := numbers[e.Code]; ok {
		return n
	}
	return numbers[nodegate.Internal]
}

// appendError writes an error's envelope.
func (e *Edge) appendError(dst, id []byte, err error) []byte {
	dst, _ = e.appendFault(dst, id, err)
	return dst
}

// appendFault also returns the text that the client is told. What is Internal is
// logged with an id, and the id is all that the client learns of it.
func (e *Edge) appendFault(dst, id []byte, err error) (answer []byte, told string) {
	x := nodegate.AsError(err)
	told = requestlog.Told(x)
	if x.Code == nodegate.Internal {
		ref := e.ids.New()
		e.cfg.Log.Error("internal error", "id", ref, "err", err)
		told = "internal error (id " + ref + ")"
	}
	return jsonrpc.AppendError(dst, id, number(x), told, x.Data), told
}
