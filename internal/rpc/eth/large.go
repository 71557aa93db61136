package eth

import (
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// compactJSON is jsonrpc.Compact, in the background if it takes long.
func compactJSON(raw []byte) ([]byte, bool) {
	if len(raw) < background.Large {
		return compactBehind(raw) // without a closure: three allocations for every call
	}
	return compactLarge(raw)
}

func compactLarge(raw []byte) (out []byte, ok bool) {
	background.RunLarge(len(raw), func() { out, ok = compactBehind(raw) })
	return out, ok
}

// compactBehind is compactJSON for who is in the background already.
func compactBehind(raw []byte) ([]byte, bool) {
	out := make([]byte, 0, len(raw))
	if len(raw) < background.Large {
		return jsonrpc.Compact(out, raw)
	}
	var rests background.Rests
	return jsonrpc.CompactLarge(out, raw, rests.Now)
}
