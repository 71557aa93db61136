package feed

import (
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// The bounds of a log filter, as Geth has them.
const (
	maxAddresses = 1000
	maxTopics    = 4
	maxChoices   = 1000 // of one topic
)

// logFilter is the filter of a subscription to logs.
type logFilter struct {
	canonical string     // {"address":[...],"topics":[...]}; members that say nothing are left out
	addresses []string   // lower-case JSON tokens; none: any
	topics    [][]string // by position; an empty one: any
}

// readFilter checks a filter and brings it into one form, so that filters that mean
// the same are one stream.
func readFilter(raw []byte) (*logFilter, error) {
	f := &logFilter{}
	if len(raw) > maxFilter {
		return nil, badSubscription("invalid argument 1: the filter is too large")
	}
	if raw != nil && string(raw) != "null" {
		why := "want an object"
		whole := jsonrpc.Fields(raw, func(name, value []byte) bool {
			ok := true
			switch strings.ToLower(string(name)) {
			case "address":
				f.addresses, ok = choices(value, len(`"0x"`)+40, maxAddresses)
			case "topics":
				f.topics, ok = topics(value)
			}
			if !ok {
				why = "invalid " + string(name)
			}
			return ok
		})
		if !whole {
			return nil, badSubscription("invalid argument 1: " + why)
		}
	}
	f.canonical = f.write()
	return f, nil
}

// choices reads one value or a list of them; null is any.
func choices(raw []byte, length, most int) (list []string, ok bool) {
	if string(raw) == "null" {
		return nil, true
	}
	elements := [][]byte{raw}
	if raw[0] == '[' {
		if elements, ok = jsonrpc.Elements(nil, raw); !ok || len(elements) > most {
			return nil, false
		}
	}
	for _, e := range elements {
		if len(e) != length || !hexjson.IsData(e) {
			return nil, false
		}
		list = append(list, strings.ToLower(string(e)))
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

func topics(raw []byte) (list [][]string, ok bool) {
	if string(raw) == "null" {
		return nil, true
	}
	elements, ok := jsonrpc.Elements(nil, raw)
	if !ok || len(elements) > maxTopics {
		return nil, false
	}
	for _, e := range elements {
		one, ok := topic(e)
		if !ok {
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}

// topic reads one position. A null within a list makes it any, as in Geth.
func topic(raw []byte) (list []string, ok bool) {
	if raw[0] == '[' {
		elements, ok := jsonrpc.Elements(nil, raw)
		if !ok {
			return nil, false
		}
		if slices.ContainsFunc(elements, func(e []byte) bool { return string(e) == "null" }) {
			return nil, true
		}
	}
	return choices(raw, hexjson.HashLength, maxChoices)
}

func (f *logFilter) write() string {
	var members []string
	if len(f.addresses) > 0 {
		members = append(members, `"address":[`+strings.Join(f.addresses, ",")+"]")
	}
	if len(f.topics) > 0 {
		var list []string
		for _, t := range f.topics {
			if len(t) == 0 {
				list = append(list, "null")
			} else {
				list = append(list, "["+strings.Join(t, ",")+"]")
			}
		}
		members = append(members, `"topics":[`+strings.Join(list, ",")+"]")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// matches tells whether a log is one that the filter lets through.
func (f *logFilter) matches(l *logEntry) bool {
	if len(f.addresses) > 0 && !slices.Contains(f.addresses, l.address) || len(f.topics) > len(l.topics) {
		return false
	}
	for i, want := range f.topics {
		if len(want) > 0 && !slices.Contains(want, l.topics[i]) {
			return false
		}
	}
	return true
}
