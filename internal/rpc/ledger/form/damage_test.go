package form_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// Bytes that are changed at random seldom remain RLP. These tests change elements instead,
// and encode everything around them again, so that each rule about an element is met.

// item is an element of RLP.
type item struct {
	isList bool
	data   []byte
	list   []*item
	raw    []byte // how it is encoded, where that is not how it should be
}

func parse(t *rapid.T, raw []byte) *item {
	kind, content, rest, err := rlp.Split(raw)
	if err != nil || len(rest) > 0 {
		t.Fatalf("no RLP: %x, %v", raw, err)
	}
	it := &item{isList: kind == rlp.List, data: content}
	for it.isList && len(content) > 0 {
		_, _, rest, err := rlp.Split(content)
		if err != nil {
			t.Fatal(err)
		}
		it.list = append(it.list, parse(t, content[:len(content)-len(rest)]))
		content = rest
	}
	return it
}

func (it *item) encode(t *rapid.T) []byte {
	if it.raw != nil {
		return it.raw
	}
	if !it.isList {
		return encode(t, it.data)
	}
	var content []byte
	for _, e := range it.list {
		content = append(content, e.encode(t)...)
	}
	return form.AppendList(nil, content)
}

// all lists an item and everything in it.
func (it *item) all() []*item {
	list := []*item{it}
	for _, e := range it.list {
		list = append(list, e.all()...)
	}
	return list
}

// damages are what is done to an item.
var damages = map[string]func(*rapid.T, *item){
	"leading zero":  func(_ *rapid.T, it *item) { it.data = append([]byte{0}, it.data...) },
	"longer":        func(_ *rapid.T, it *item) { it.data = append(slices.Clone(it.data), 1) },
	"much longer":   func(_ *rapid.T, it *item) { it.data = append(slices.Clone(it.data), make([]byte, 40)...) },
	"shorter":       func(_ *rapid.T, it *item) { it.data = it.data[:max(0, len(it.data)-1)] },
	"empty":         func(_ *rapid.T, it *item) { it.data, it.list = nil, nil },
	"one":           func(_ *rapid.T, it *item) { it.data = []byte{1} },
	"other kind":    func(_ *rapid.T, it *item) { it.isList = !it.isList },
	"random":        func(t *rapid.T, it *item) { it.data = drawBytes(t, 34, "data") },
	"element less":  func(_ *rapid.T, it *item) { it.list = it.list[:max(0, len(it.list)-1)] },
	"element more":  func(_ *rapid.T, it *item) { it.list = append(slices.Clone(it.list), &item{data: []byte{7}}) },
	"element twice": func(_ *rapid.T, it *item) { it.list = append(slices.Clone(it.list), it.list...) },
	"long head": func(t *rapid.T, it *item) {
		raw := it.encode(t)
		if len(raw) > 1 && len(raw) < 56 { // a size that needs no byte of its own has one
			kind := raw[0]&0xc0 | 0x38
			it.raw = append([]byte{kind, byte(len(raw) - 1)}, raw[1:]...)
		} else if len(raw) == 1 { // a byte that needs no head has one
			it.raw = []byte{0x81, raw[0]}
		}
	},
	"cut off":  func(t *rapid.T, it *item) { raw := it.encode(t); it.raw = raw[:max(0, len(raw)-1)] },
	"too much": func(t *rapid.T, it *item) { it.raw = append(it.encode(t), 0) },
}

// damaged is RLP, perhaps after a first byte, of which one or two elements are changed.
func damaged(t *rapid.T, raw []byte) []byte {
	var before []byte
	if len(raw) > 0 && raw[0] < 0x80 {
		before, raw = raw[:1:1], raw[1:]
	}
	names := make([]string, 0, len(damages))
	for name := range damages {
		names = append(names, name)
	}
	slices.Sort(names)
	top := parse(t, raw)
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		it := rapid.SampledFrom(top.all()).Draw(t, "item")
		damages[rapid.SampledFrom(names).Draw(t, "damage")](t, it)
	}
	return append(before, top.encode(t)...)
}

// TestDamaged holds what is refused, and what is read in spite of changes, to go-ethereum's
// decoders.
func TestDamaged(t *testing.T) {
	txs, receipts := seeds(t)
	_, blocks := generated(t)
	w, last := form.New(), blocks[len(blocks)-1]
	amsterdam, slot := last.Header(), uint64(1<<40)
	amsterdam.BlockAccessListHash, amsterdam.SlotNumber = &common.Hash{9}, &slot
	header, withdrawals := encode(t, amsterdam), encode(t, last.Withdrawals())
	d, _, _ := recordedDeposit(t)
	d.From, d.Mint, d.Value, d.IsSystem = fuzzPlace().from, big.NewInt(1e18), big.NewInt(300), true
	bridged := d.raw(t)

	for name, check := range map[string]func(*rapid.T) bool{
		"transaction": func(t *rapid.T) bool { return checkTransaction(t, w, damaged(t, rapid.SampledFrom(txs).Draw(t, "of"))) },
		"deposit":     func(t *rapid.T) bool { return checkTransaction(t, w, damaged(t, bridged)) },
		"header":      func(t *rapid.T) bool { return checkHeader(t, w, damaged(t, header)) },
		"receipt": func(t *rapid.T) bool {
			return checkReceipt(t, w, damaged(t, rapid.SampledFrom(receipts).Draw(t, "of")))
		},
		"withdrawals": func(t *rapid.T) bool { return checkWithdrawals(t, w, last.Header(), damaged(t, withdrawals)) },
		"row": func(t *rapid.T) bool {
			i := rapid.IntRange(0, len(receipts)-1).Draw(t, "of")
			row, _, _ := w.Slim(nil, receipts[i])
			return checkRows(t, w, damaged(t, row), txs[i])
		},
		"row and transaction": func(t *rapid.T) bool {
			i := rapid.IntRange(0, len(receipts)-1).Draw(t, "of")
			row, _, _ := w.Slim(nil, receipts[i])
			return checkRows(t, w, damaged(t, row), damaged(t, txs[i]))
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				if check(t) {
					read++
				} else {
					refused++
				}
			})
			if enough := read+refused >= 100; enough && (read == 0 || refused == 0) { // -short runs few
				t.Errorf("%d were read and %d refused: the test looks at one kind only", read, refused)
			}
		})
	}
}
