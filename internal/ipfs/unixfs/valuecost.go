package unixfs

import "github.com/multiformats/go-multicodec"

// What parts of a decoded value take in memory, with what their lists and maps leave behind
// while they grow. TestValueCost measures them.
const (
	itemCost    = 56   // one item of a list or map
	listCost    = 64   // a list without items
	mapCost     = 256  // a map with its first entry
	entryCost   = 192  // one entry of a map, beside the item
	pbLinkCost  = 640  // a link of dag-pb, which is a map of three entries
	mostInFirst = 1024 // entries that decoders of CBOR make room for when a list or map begins
)

// valueCost is about how much memory the value in a block takes, or at least what decoding
// takes until it fails. A value of many small maps takes a hundred times the bytes of its
// block, and most values hardly more than these: only a look at the block tells.
func valueCost(code uint64, data []byte) int64 {
	cost := 2 * int64(len(data)) // its strings, which grow while they are read
	switch multicodec.Code(code) {
	case multicodec.DagJson, multicodec.Json:
		return cost + jsonCost(data)
	case multicodec.DagCbor, multicodec.Cbor:
		return cost + cborCost(data)
	case multicodec.DagPb:
		return cost + pbCost(data)
	}
	return cost
}

// jsonCost counts what begins lists, maps and items outside of strings.
func jsonCost(data []byte) (cost int64) {
	quoted := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // whatever is escaped ends no string
		case quoted:
		case c == '[':
			cost += listCost
		case c == '{':
			cost += mapCost
		case c == ',':
			cost += itemCost
		case c == ':':
			cost += entryCost
		}
	}
	return cost
}

// cborCost goes over the heads of items, in whatever they are nested.
func cborCost(data []byte) (cost int64) {
	s := &cborScan{rest: data}
	for len(s.rest) > 0 {
		major, n, err := s.head()
		if err != nil {
			break
		}
		cost += itemCost
		switch major {
		case cborBytes, cborText:
			if _, err := s.cut(n); err != nil {
				return cost
			}
		case cborList:
			cost += listCost + 16*int64(min(n, mostInFirst))
		case cborMap:
			cost += mapCost + entryCost*int64(min(n, mostInFirst))
			if n > mostInFirst { // the others are not counted where they are
				cost += entryCost * int64(min(n-mostInFirst, uint64(len(s.rest))/2))
			}
		}
	}
	return cost
}

// pbCost counts links.
func pbCost(data []byte) (cost int64) {
	for len(data) > 0 {
		f, rest, ok := nextField(data)
		if !ok {
			break
		}
		if f.number == pbLinks {
			cost += pbLinkCost + int64(len(f.bytes))
		}
		data = rest
	}
	return cost
}

// pbLinks is the number of the field of dag-pb that holds a link.
const pbLinks = 2
