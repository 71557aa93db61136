package proven

import (
	"encoding/hex"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// query is a call that can be proven.
type query struct {
	block    block
	accounts []request // one, unless the method takes several
}

// request is what is asked of one account.
type request struct {
	address [20]byte
	slots   [][32]byte
	keys    [][]byte // the slots as a client wrote them, which nodes repeat; nil: in full
}

// maxSlots is how many slots one call may ask for: as many as go-ethereum allows.
const maxSlots = 1024

// maxAccounts is how many accounts one call may ask for: each takes a proof.
const maxAccounts = 64

// read reads a call. It is strict: what a node may read in another way is not ok.
func read(row *method.Row, params []byte) (q *query, ok bool) {
	var room [4][]byte
	args, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(args) < row.Block || len(args) > row.Block+1 {
		return nil, false
	}
	q = &query{block: block{by: byLatest}}
	if len(args) > row.Block && !q.block.read(args[row.Block]) {
		return nil, false
	}
	if row.Part == method.SlotsPart {
		return q, q.readAccounts(args[0])
	}
	var r request
	ok = hexBytes(r.address[:], args[0])
	switch {
	case row.Part == method.SlotPart:
		r.slots = make([][32]byte, 1)
		ok = ok && hexBytes(r.slots[0][:], args[1])
	case row.Answer == method.ProofAnswer:
		ok = ok && r.readKeys(args[1])
	}
	q.accounts = []request{r}
	return q, ok
}

// readAccounts reads an object of slots by accounts.
func (q *query) readAccounts(raw []byte) bool {
	slots, seen := 0, map[[20]byte]bool{}
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		var r request
		if len(q.accounts) == maxAccounts || !hexDigits(r.address[:], name) || !r.readSlots(value) {
			return false
		}
		twice := seen[r.address]
		seen[r.address] = true
		slots += len(r.slots)
		q.accounts = append(q.accounts, r)
		return !twice
	})
	return ok && slots > 0 && slots <= maxSlots
}

// readSlots reads a list of slots.
func (r *request) readSlots(raw []byte) bool {
	list, over, ok := jsonrpc.FirstElements(nil, raw, maxSlots)
	if !ok || over {
		return false
	}
	r.slots = make([][32]byte, len(list))
	for i := range list {
		if !hexBytes(r.slots[i][:], list[i]) {
			return false
		}
	}
	return true
}

// readKeys reads the slots of a proof. They may be short: zeros are left out before them.
func (r *request) readKeys(raw []byte) bool {
	list, over, ok := jsonrpc.FirstElements(nil, raw, maxSlots)
	if !ok || over {
		return false
	}
	r.slots, r.keys = make([][32]byte, len(list)), list
	for i, token := range list {
		if !shortWord(&r.slots[i], token) {
			return false
		}
	}
	return true
}

// by is how a call names its block.
type by uint8

const (
	byLatest by = iota
	byNumber
	byHash
	byPending
)

// block is the block that a call is about.
type block struct {
	by     by
	number uint64
	hash   [32]byte
	// raw is the parameter of a hash that must be on the chain, which a node has to say; nil
	// otherwise.
	raw []byte
}

// read reads a block parameter. The tags but pending have become numbers above, where the
// chain has such a block.
func (b *block) read(raw []byte) bool {
	if raw[0] == '{' {
		return b.readObject(raw)
	}
	switch string(raw) {
	case "null", `"latest"`:
		b.by = byLatest
		return true
	case `"pending"`:
		b.by = byPending
		return true
	}
	if hexjson.IsHash(raw) {
		b.by = byHash
		return hexBytes(b.hash[:], raw)
	}
	number, ok := hexjson.Quantity(raw)
	b.by, b.number = byNumber, number
	return ok && hexjson.Number(number) == string(raw) // zeros before a number are an error
}

// readObject reads a block after EIP-1898. Those with a number have become one above.
func (b *block) readObject(raw []byte) bool {
	hash := false
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "blockHash":
			twice := hash
			hash = hexBytes(b.hash[:], value)
			return hash && !twice
		case "requireCanonical":
			if string(value) == "true" {
				b.raw = raw
			}
			return string(value) == "true" || string(value) == "false"
		}
		return false
	})
	b.by = byHash
	return ok && hash
}

// hexBytes reads a string of 0x and exactly len(dst) bytes.
func hexBytes(dst, token []byte) bool {
	n := len(token)
	return n >= 2 && token[0] == '"' && token[n-1] == '"' && hexDigits(dst, token[1:n-1])
}

// shortWord reads a string of 0x and 1 to 64 digits.
func shortWord(dst *[32]byte, token []byte) bool {
	n := len(token) - len(`"0x"`)
	if n < 1 || n > 2*len(dst) || string(token[:3]) != `"0x` {
		return false
	}
	var full [2 + 2*len(dst)]byte
	copy(full[:], "0x0000000000000000000000000000000000000000000000000000000000000000")
	copy(full[len(full)-n:], token[3:len(token)-1])
	return token[len(token)-1] == '"' && hexDigits(dst[:], full[:])
}

func hexDigits(dst, text []byte) bool {
	if len(text) != len("0x")+2*len(dst) || text[0] != '0' || text[1] != 'x' {
		return false
	}
	_, err := hex.Decode(dst, text[2:])
	return err == nil
}
