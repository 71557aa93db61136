package rollup

import (
	"encoding/json"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// sending are the methods that put a signed transaction out.
var sending = method.SetOf(func(r *method.Row) bool { return r.Contracts == method.RawTransaction })

// errBlob begins with Geth's words for a type that a chain doesn't take.
var errBlob = &nodegate.Error{
	Op: "rollup.send", Code: nodegate.ExecutionFailed,
	Msg: "transaction type not supported: this layer-2 network takes no blob transactions (type 3). Send the blobs to its base layer",
}

// takes returns an error for what no layer-2 network takes: blobs are the base layer's, and
// a rollup pays for them itself. Remote nodes say so themselves.
func (n *Node) takes(name string, params []byte) error {
	if n.cfg.Remote || !sending.Has(name) {
		return nil
	}
	var list []json.RawMessage
	var raw string
	if json.Unmarshal(params, &list) != nil || len(list) == 0 || json.Unmarshal(list[0], &raw) != nil {
		return nil // the node says what is wrong with it
	}
	if strings.HasPrefix(raw, "0x03") || strings.HasPrefix(raw, "0X03") {
		return errBlob
	}
	return nil
}
