package logquery

import (
	"bytes"
	"slices"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// Filter is a log query. Parse makes it.
type Filter struct {
	From, To uint64    // heights, both included
	Hash     *[32]byte // of the one block to look at, instead of heights

	addresses [][]byte   // one of them; none: any
	topics    [][][]byte // at each position one of them; none: any, but there must be one
}

// sort makes the lists ready to be searched. What stands in one twice counts once.
func (f *Filter) sort() {
	f.addresses = sorted(f.addresses)
	for i := range f.topics {
		f.topics[i] = sorted(f.topics[i])
	}
}

func sorted(list [][]byte) [][]byte {
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal)
}

// matches tells whether a log is asked for.
func (f *Filter) matches(l *form.Log) bool {
	if len(f.topics) > l.Topics() || !allowed(f.addresses, l.Address) {
		return false
	}
	for i, wanted := range f.topics {
		if !allowed(wanted, l.Topic(i)) {
			return false
		}
	}
	return true
}

// allowed tells whether a sorted list has a value, or is empty.
func allowed(list [][]byte, value []byte) bool {
	_, ok := slices.BinarySearchFunc(list, value, bytes.Compare)
	return ok || len(list) == 0
}

// keys are the keys to look for in the index. Of each list one has to be found. Those of the
// events are the last: their lists are the longest.
func (f *Filter) keys() (lists [][]logindex.Key) {
	add := func(values [][]byte, key func([]byte) logindex.Key) {
		list := make([]logindex.Key, len(values))
		for i, v := range values {
			list[i] = key(v)
		}
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	add(f.addresses, logindex.AddressKey)
	for at := 1; at < len(f.topics); at++ {
		add(f.topics[at], func(topic []byte) logindex.Key { return logindex.TopicKey(at, topic) })
	}
	if f.hasEvent() {
		add(f.topics[0], func(topic []byte) logindex.Key { return logindex.TopicKey(0, topic) })
	}
	return lists
}

// hasEvent tells whether the first topic is given, so that the last keys are its.
func (f *Filter) hasEvent() bool { return len(f.topics) > 0 && len(f.topics[0]) > 0 }
