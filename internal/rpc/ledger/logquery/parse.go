package logquery

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// maxValues is how many addresses, or topics of one position, Geth takes by default.
const maxValues = 1000

// Parse reads the parameters of eth_getLogs: one object with the numbers of the first and the
// last block, or a block's hash, and maybe addresses and topics. It returns false for anything
// else, also where Geth would take it: tags, ends that are left out, names that are spelled
// otherwise, a null within a list.
func Parse(params []byte) (*Filter, bool) {
	var room [1][]byte
	list, over, ok := jsonrpc.FirstElements(room[:0], params, 1)
	if !ok || over || len(list) != 1 {
		return nil, false
	}
	var r reader
	ok = jsonrpc.Fields(list[0], r.member)
	byRange, byHash := r.seen&(seenFrom|seenTo) == seenFrom|seenTo && r.From <= r.To, r.seen&seenHash != 0
	if !ok || byHash == (r.seen&(seenFrom|seenTo) != 0) || !byHash && !byRange {
		return nil, false
	}
	r.sort()
	return &r.Filter, true
}

// The members that were seen.
const (
	seenFrom = 1 << iota
	seenTo
	seenHash
	seenAddress
	seenTopics
)

// reader is a filter that is being read.
type reader struct {
	Filter
	seen int
}

// member reads a member. It refuses a second one of the same name.
func (r *reader) member(name, value []byte) bool {
	was := r.seen
	ok := false
	switch string(name) {
	case "fromBlock":
		r.seen |= seenFrom
		r.From, ok = number(value)
	case "toBlock":
		r.seen |= seenTo
		r.To, ok = number(value)
	case "blockHash":
		r.seen |= seenHash
		r.Hash = new([32]byte)
		ok = fixed(r.Hash[:], value)
	case "address":
		r.seen |= seenAddress
		ok = r.readAddresses(value)
	case "topics":
		r.seen |= seenTopics
		ok = r.readTopics(value)
	}
	return ok && r.seen != was
}

func isNull(value []byte) bool { return string(value) == "null" }

// readAddresses reads an address or a list of them. None are any.
func (r *reader) readAddresses(value []byte) (ok bool) {
	if isNull(value) {
		return true
	}
	r.addresses, ok = values(value, addressBytes)
	return ok
}

// readTopics reads the topics of each position: one, several, or null for any.
func (r *reader) readTopics(value []byte) bool {
	if isNull(value) {
		return true
	}
	list, over, ok := jsonrpc.FirstElements(nil, value, logindex.MaxTopics)
	if !ok || over {
		return false
	}
	for _, e := range list {
		var wanted [][]byte
		if !isNull(e) {
			if wanted, ok = values(e, topicBytes); !ok {
				return false
			}
		}
		r.topics = append(r.topics, wanted)
	}
	return true
}

// The sizes of what can be asked for.
const (
	addressBytes = 20
	topicBytes   = 32
)

// values reads one value of a size, or a list of them.
func values(value []byte, size int) (list [][]byte, ok bool) {
	elements, over := [][]byte{value}, false
	if value[0] != '"' {
		if elements, over, ok = jsonrpc.FirstElements(nil, value, maxValues); !ok || over {
			return nil, false
		}
	}
	for _, e := range elements {
		v := make([]byte, size)
		if !fixed(v, e) {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// fixed reads a string of 0x and exactly so many bytes.
func fixed(dst, value []byte) bool {
	if len(value) != len(`"0x"`)+2*len(dst) || string(value[:3]) != `"0x` || value[len(value)-1] != '"' {
		return false
	}
	_, err := hex.Decode(dst, value[3:len(value)-1])
	return err == nil
}

// number reads a height in its shortest form. Geth has no larger ones.
func number(value []byte) (uint64, bool) {
	const shortest, longest = len(`"0x0"`), len(`"0x0123456789abcdef"`)
	if len(value) < shortest || len(value) > longest || string(value[:3]) != `"0x` || value[len(value)-1] != '"' {
		return 0, false
	}
	digits := value[3 : len(value)-1]
	if digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	return n, err == nil && n <= math.MaxInt64
}
