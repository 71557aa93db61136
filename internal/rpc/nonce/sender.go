package nonce

import (
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/signer"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// blobType is the type of the transactions that are sent with blobs beside them.
const blobType = 3

// senderOf reads who signed a raw transaction, in lower case, and its nonce. It is not ok
// for what it can't read; the node has judged it.
func senderOf(param []byte) (sender string, nonce uint64, ok bool) {
	text, isText := jsonrpc.String(param)
	raw, err := hexutil.Decode(string(text))
	if !isText || err != nil || len(raw) == 0 {
		return "", 0, false
	}
	if raw[0] == blobType {
		raw = verify.WithoutBlobs(raw)
	}
	if nonce, ok = nonceOf(raw); !ok {
		return "", 0, false
	}
	address, ok := signer.Sender(raw)
	return hexutil.Encode(address[:]), nonce, ok
}

// nonceOf is the nonce of a transaction: its first field, or the second where a type, and so
// a chain id, is before it.
func nonceOf(raw []byte) (nonce uint64, ok bool) {
	const typed = 0x80 // types are below, lists above
	hasType := raw[0] < typed
	if hasType {
		raw = raw[1:]
	}
	fields, _, err := rlp.SplitList(raw)
	if err == nil && hasType {
		_, _, fields, err = rlp.Split(fields)
	}
	if err != nil {
		return 0, false
	}
	nonce, _, err = rlp.SplitUint64(fields)
	return nonce, err == nil
}
