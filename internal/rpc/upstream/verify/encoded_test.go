package verify

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/test/full"
)

// failer is what tests, fuzz tests and property tests have in common.
type failer interface{ Errorf(string, ...any) }

// compare holds an encoded block to go-ethereum's encoding of it.
func (b *shown) compare(t failer, e *Encoded) {
	header, err := rlp.EncodeToBytes(b.Header())
	if err != nil {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(e.RLP, header) || crypto.Keccak256Hash(e.RLP) != b.Hash() {
		t.Errorf("%s: the header is\n%x\nwant\n%x", b, e.RLP, header)
	}
	want := Header{b.Hash(), b.NumberU64(), b.Root(), b.TxHash(), b.ReceiptHash(), b.Bloom()}
	if *e.Header != want {
		t.Errorf("%s: the header has %+v, want %+v", b, *e.Header, want)
	}
	compareList(t, b, "transactions", &e.Transactions, encodings(b.Transactions()))
	if e.HasWithdrawals != (b.Withdrawals() != nil) || e.Held.Has(WithdrawalsRoot) != (b.Withdrawals() != nil) {
		t.Errorf("%s: it has withdrawals: %v, held %b", b, e.HasWithdrawals, e.Held)
	}
	compareList(t, b, "withdrawals", &e.Withdrawals, encodings(types.Withdrawals(b.Withdrawals())))
	if !e.Held.Has(HeaderHash) || !e.Held.Has(TransactionsRoot) || e.Outside != nil {
		t.Errorf("%s: held %b, outside %v", b, e.Held, e.Outside)
	}
}

// compareReceipts does so for its receipts.
func (b *shown) compareReceipts(t failer, l *List, held Kinds) {
	compareList(t, b, "receipts", l, encodings(b.receipts))
	if !held.Has(ReceiptsRoot) {
		t.Errorf("%s: held %b", b, held)
	}
}

// encodings are the elements of a list whose root go-ethereum derives.
func encodings(list types.DerivableList) (all [][]byte) {
	for i := range list.Len() {
		var out bytes.Buffer
		list.EncodeIndex(i, &out)
		all = append(all, out.Bytes())
	}
	return all
}

func compareList(t failer, b *shown, what string, got *List, want [][]byte) {
	if got.Len() != len(want) {
		t.Errorf("%s has %d %s, want %d", b, got.Len(), what, len(want))
		return
	}
	for i, w := range want {
		if !bytes.Equal(got.At(i), w) || cap(got.At(i)) != len(w) {
			t.Errorf("%s: element %d of the %s is\n%x\nwant\n%x", b, i, what, got.At(i), w)
		}
	}
	if n := len(bytes.Join(want, nil)); len(got.Data) != n {
		t.Errorf("%s: the %s have %d bytes, want %d", b, what, len(got.Data), n)
	}
}

// encode encodes a block and its receipts, and compares both.
func (b *shown) encode(t failer, c *Checker) {
	e, f := c.Encode(b.Hash(), b.whole)
	if f != nil {
		t.Errorf("%s: %v\n%s", b, f, b.whole)
		return
	}
	b.compare(t, e)
	list, held, f := New("").EncodeReceipts(e.Header, b.receipted) // which has no header in memory
	if f != nil {
		t.Errorf("%s: %v\n%s", b, f, b.receipted)
		return
	}
	b.compareReceipts(t, &list, held)
	if again, _, f := c.EncodeReceipts(e.Header, b.receipted); f != nil || !reflect.DeepEqual(again, list) {
		t.Errorf("%s: with its header in memory: %v", b, f)
	}
}

// TestEncodeChains encodes every block of the built-in chains and of the standard's chain.
func TestEncodeChains(t *testing.T) {
	full.Slow(t)
	for name, list := range map[string]func(*testing.T) []shown{
		"built in": func(*testing.T) []shown { return presets() }, "conformance": conformance,
	} {
		t.Run(name, func(t *testing.T) {
			c, kinds, withdrawn := New(""), map[uint8]int{}, 0
			for _, b := range list(t) {
				b.encode(t, c)
				for _, tx := range b.Transactions() {
					kinds[tx.Type()]++
				}
				withdrawn += len(b.Withdrawals())
			}
			if len(kinds) != 5 {
				t.Errorf("the chains have transactions of these types only: %v", kinds)
			}
			t.Logf("transactions by type: %v, withdrawals: %d", kinds, withdrawn)
		})
	}
}

// TestEncodeMade encodes random blocks of every fork.
func TestEncodeMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMaker(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, forks-1).Draw(t, "fork"))
		m.block(rapid.IntRange(0, 5).Draw(t, "transactions")).encode(t, New(""))
	})
}

// TestEncodeLong encodes lists whose keys have one to three bytes.
func TestEncodeLong(t *testing.T) {
	c := New("")
	for fork, n := range []int{127, 128, 129, 256, 300, 40} {
		newMaker(uint64(n), fork%forks).block(n).encode(t, c)
	}
}

// TestEncodeSpelling: however a node writes its JSON, the encoding is the same.
func TestEncodeSpelling(t *testing.T) {
	upper := func(text []byte) []byte {
		out := bytes.Clone(text)
		for _, tok := range hexTokens(text) {
			copy(out[tok.start:], bytes.ToUpper(out[tok.start:tok.end]))
		}
		return out
	}
	indent := func(text []byte) []byte {
		var out bytes.Buffer
		if err := json.Indent(&out, text, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	zeros := func(text []byte) []byte { // before a quantity
		for _, name := range []string{"nonce", "gas", "value", "cumulativeGasUsed", "amount"} {
			text = bytes.ReplaceAll(text, []byte(`"`+name+`":"0x0"`), []byte(`"`+name+`":"0x00"`))
		}
		return text
	}
	b := newMaker(7, withSlots).block(9)
	for _, spell := range []func([]byte) []byte{upper, indent, zeros} {
		other := shown{b.Block, b.receipts, spell(b.whole), spell(b.receipted)}
		other.encode(t, New(""))
	}
}

// TestEncodeKept: what was encoded stays as it is while other blocks are checked.
func TestEncodeKept(t *testing.T) {
	c := New("")
	var work sync.WaitGroup
	for worker := range 4 {
		work.Go(func() {
			b := newMaker(uint64(worker), withSlots).block(20)
			e, f := c.Encode(b.Hash(), b.whole)
			if f != nil {
				t.Error(f)
				return
			}
			list, held, f := c.EncodeReceipts(e.Header, b.receipted)
			if f != nil {
				t.Error(f)
				return
			}
			for i := range 20 {
				newMaker(uint64(100+i), withSlots).block(10+i).encode(t, c)
			}
			b.compare(t, e)
			b.compareReceipts(t, &list, held)
		})
	}
	work.Wait()
}

// TestEncodeLies changes one value of an honest answer after the other. The lie is found, or
// is about what isn't encoded.
func TestEncodeLies(t *testing.T) {
	full.Slow(t)
	c := New("")
	missed, tried := map[string]bool{}, 0
	try := func(name string, raw []byte, encode func([]byte) *Finding) {
		for _, tok := range hexTokens(raw) {
			tried++
			if encode(lie(raw, tok)) == nil {
				missed[name+tok.path] = true
			}
		}
	}
	list := slices.Clone(presets()[:11])
	for fork := range forks {
		list = append(list, *newMaker(uint64(fork), fork).block(12))
	}
	for _, b := range list {
		e, f := c.Encode(b.Hash(), b.whole)
		if f != nil {
			t.Fatal(f)
		}
		try("block", b.whole, func(lied []byte) *Finding {
			got, f := c.Encode(b.Hash(), lied)
			if f == nil && !reflect.DeepEqual(got, e) {
				t.Errorf("%s: a lie is encoded:\n%s", &b, lied)
			}
			return f
		})
		receipts, _, f := c.EncodeReceipts(e.Header, b.receipted)
		if f != nil {
			t.Fatal(f)
		}
		try("receipts", b.receipted, func(lied []byte) *Finding {
			got, _, f := New("").EncodeReceipts(e.Header, lied)
			if f == nil && !reflect.DeepEqual(got, receipts) {
				t.Errorf("%s: a lie is encoded:\n%s", &b, lied)
			}
			return f
		})
	}
	want := map[string]bool{}
	for _, path := range unshown["eth_getBlockByHash"] {
		want["block"+path] = true
	}
	for _, path := range unshown["eth_getBlockReceipts"] {
		want["receipts"+path] = true
	}
	if !maps.Equal(missed, want) {
		t.Errorf("lies about these are not found:\n%v\nwant\n%v", slices.Sorted(maps.Keys(missed)), slices.Sorted(maps.Keys(want)))
	}
	if tried < 3000 {
		t.Errorf("only %d lies were tried", tried)
	}
}

// changed is a block with other members; nil takes one away.
func (b *shown) changed(members fields) []byte {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b.whole, &all); err != nil {
		panic(err)
	}
	for name, value := range members {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = write(value)
		}
	}
	return write(all)
}

// lists are an honest list and lies about it.
func lists(raw []byte) map[string][]byte {
	list, ok := jsonrpc.Elements(nil, raw)
	if !ok || len(list) < 2 {
		panic("too short for a lie")
	}
	join := func(parts ...[]byte) []byte {
		return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
	}
	return map[string][]byte{
		"none":                 []byte("[]"),
		"the last left out":    join(list[:len(list)-1]...),
		"the first left out":   join(list[1:]...),
		"the last twice":       join(append(slices.Clone(list), list[len(list)-1])...),
		"the first two change": join(append([][]byte{list[1], list[0]}, list[2:]...)...),
		"null among them":      join(append(slices.Clone(list), []byte("null"))...),
	}
}

// TestEncodeLyingLists leaves out, repeats and swaps elements.
func TestEncodeLyingLists(t *testing.T) {
	c := New("")
	m := newMaker(3, withSlots)
	b := m.block(6)
	for len(b.Withdrawals()) < 2 {
		b = m.block(6)
	}
	e, f := c.Encode(b.Hash(), b.whole)
	if f != nil {
		t.Fatal(f)
	}
	parts, _ := members(b.whole, "transactions", "withdrawals")
	for at, name := range []string{"transactions", "withdrawals"} {
		for what, list := range lists(parts[at]) {
			if _, f := c.Encode(b.Hash(), b.changed(fields{name: json.RawMessage(list)})); f == nil {
				t.Errorf("%s: %s is not found", name, what)
			}
		}
	}
	for what, list := range lists(b.receipted) {
		if _, _, f := c.EncodeReceipts(e.Header, list); f == nil {
			t.Errorf("receipts: %s is not found", what)
		}
	}
	other := m.block(6)
	if _, f := c.Encode(b.Hash(), other.whole); f == nil || f.Kind != Identity {
		t.Errorf("another block: %v", f)
	}
	if _, _, f := c.EncodeReceipts(e.Header, other.receipted); f == nil || f.Kind != Identity {
		t.Errorf("receipts of another block: %v", f)
	}
	hashes := []string{}
	for _, tx := range b.Transactions() {
		hashes = append(hashes, tx.Hash().Hex())
	}
	for _, raw := range []string{"", "null", "[]", "{}", `"0x"`, "[", "{", string(b.changed(fields{"transactions": hashes})), string(b.changed(fields{"transactions": nil}))} {
		if _, f := c.Encode(b.Hash(), []byte(raw)); f == nil {
			t.Errorf("%.100s is a block", raw)
		}
	}
	for _, raw := range []string{"", "null", "[]", "{}", `"0x"`, "[", "{", "[{}]", "[null]"} {
		if _, _, f := c.EncodeReceipts(e.Header, []byte(raw)); f == nil {
			t.Errorf("%.100s are receipts", raw)
		}
	}
}

// TestEncodeWithdrawals: only withdrawals that the header proves are taken, and none is
// missing.
func TestEncodeWithdrawals(t *testing.T) {
	one := []*types.Withdrawal{{Index: 1, Validator: 2, Address: common.Address{3}, Amount: 4}}
	before, with := newMaker(1, baseFees).block(2), newMaker(3, withWithdrawals).block(2)
	empty := show(types.NewBlock(with.Header(), &types.Body{Withdrawals: []*types.Withdrawal{}}, nil, gethtrie.NewStackTrie(nil)), nil)
	if len(with.Withdrawals()) == 0 {
		t.Fatal("the block has no withdrawals")
	}
	const fine, lie, foreign = "no finding", "a lie", "foreign"
	for what, c := range map[string]struct {
		block   *shown
		members fields
		stack   string
		want    string
	}{
		"none, and no root":              {before, fields{}, "", fine},
		"an empty list, and no root":     {before, fields{"withdrawals": one[:0]}, "", fine},
		"some, and no root":              {before, fields{"withdrawals": one}, "", lie},
		"no list of some":                {with, fields{"withdrawals": nil}, "", foreign},
		"null instead of some":           {with, fields{"withdrawals": json.RawMessage("null")}, "", foreign},
		"others":                         {with, fields{"withdrawals": one}, "", lie},
		"no list of none":                {empty, fields{"withdrawals": nil}, "", fine},
		"some where none are":            {empty, fields{"withdrawals": one}, "", lie},
		"an object":                      {before, fields{"withdrawals": fields{}}, "", lie},
		"some where the root is no root": {with, fields{}, stackOP, lie},
	} {
		t.Run(what, func(t *testing.T) {
			e, f := New(c.stack).Encode(c.block.Hash(), c.block.changed(c.members))
			got := fine
			if f != nil {
				got = map[bool]string{false: lie, true: foreign}[f.Foreign]
			}
			if got != c.want || f != nil && f.Kind != WithdrawalsRoot {
				t.Fatalf("%s: %v", got, f)
			}
			if f == nil {
				c.block.compare(t, e)
			}
		})
	}
}

// TestEncodeExcepted: what two nodes agreed on is not encoded, since nothing proves it.
func TestEncodeExcepted(t *testing.T) {
	b := newMaker(5, withSlots).block(3)
	c := New("")
	parts, _ := members(b.whole, "transactions")
	list, _ := jsonrpc.Elements(nil, parts[0])
	lied := b.changed(fields{"transactions": []json.RawMessage{list[0], list[1]}})
	_, f := c.Encode(b.Hash(), lied)
	if f == nil || f.Kind != TransactionsRoot || !c.Except(f) {
		t.Fatalf("found %v", f)
	}
	e, f := c.Encode(b.Hash(), lied)
	if f != nil || e.Held.Has(TransactionsRoot) || e.Transactions.Len() > 0 || !e.Held.Has(HeaderHash) {
		t.Errorf("%v, %+v", f, e)
	}
	short := bytes.Replace(b.receipted, []byte(`"cumulativeGasUsed":"0x`), []byte(`"cumulativeGasUsed":"0x1`), 1)
	h := e.Header
	_, _, f = c.EncodeReceipts(h, short)
	if f == nil || f.Kind != ReceiptsRoot || !c.Except(f) {
		t.Fatalf("found %v", f)
	}
	if receipts, held, f := c.EncodeReceipts(h, short); f != nil || held.Has(ReceiptsRoot) || receipts.Len() > 0 {
		t.Errorf("%v, %b, %d receipts", f, held, receipts.Len())
	}
}

// FuzzEncode: what is encoded is the block with that hash, wherever its answer is changed.
func FuzzEncode(f *testing.F) {
	list := encodeSeeds()
	for i := range list {
		addEdits(f, uint(i), list[i].whole)
	}
	c := New("")
	f.Fuzz(func(t *testing.T, which, at, cut uint, insert []byte) {
		b := &list[which%uint(len(list))]
		if e, found := c.Encode(b.Hash(), edit(b.whole, at, cut, insert)); found == nil {
			b.compare(t, e)
		}
	})
}

// FuzzEncodeReceipts: what is encoded are the receipts of that block.
func FuzzEncodeReceipts(f *testing.F) {
	list := encodeSeeds()
	for i := range list {
		addEdits(f, uint(i), list[i].receipted)
	}
	c := New("")
	f.Fuzz(func(t *testing.T, which, at, cut uint, insert []byte) {
		b := &list[which%uint(len(list))]
		h := &Header{Hash: b.Hash(), Number: b.NumberU64(), ReceiptsRoot: b.ReceiptHash(), Bloom: b.Bloom()}
		if list, held, found := c.EncodeReceipts(h, edit(b.receipted, at, cut, insert)); found == nil {
			b.compareReceipts(t, &list, held)
		}
	})
}

// edit puts some bytes in the place of others. A fuzzer gets further with edits of an honest
// answer than with answers, of which nearly all are no JSON.
func edit(answer []byte, at, cut uint, insert []byte) []byte {
	start := at % uint(len(answer))
	end := start + cut%(uint(len(answer))-start+1)
	return slices.Replace(bytes.Clone(answer), int(start), int(end), insert...)
}

// addEdits are lies to begin with.
func addEdits(f *testing.F, which uint, answer []byte) {
	f.Add(which, uint(0), uint(0), []byte(" "))
	f.Add(which, uint(0), uint(len(answer)), []byte("null"))
	f.Add(which, uint(1), uint(0), []byte(`"hash":"0x00",`))
	f.Add(which, uint(1), uint(0), []byte(`"withdrawals":[],`))
	for i, tok := range hexTokens(answer) {
		if i%40 == int(which) {
			f.Add(which, uint(tok.start), uint(1), []byte("1"))
			f.Add(which, uint(tok.end), uint(0), []byte("00"))
		}
	}
}

// encodeSeeds are small blocks of every fork.
func encodeSeeds() (list []shown) {
	list = append(list, presets()[:11]...)
	for fork := range forks {
		for n := range 3 {
			list = append(list, *newMaker(uint64(fork), fork).block(n))
		}
	}
	return list
}

// BenchmarkEncode is a block of 200 transactions and its receipts, beside their check alone.
func BenchmarkEncode(b *testing.B) {
	block := newMaker(1, withSlots).block(200)
	c := New("")
	h, f := c.Read(block.whole)
	if f != nil {
		b.Fatal(f)
	}
	hash := block.Hash().Hex()
	whole := sample{"eth_getBlockByHash", `["` + hash + `",true]`, block.whole}
	b.Run("block/check", func(b *testing.B) { benchmark(b, c, whole.ask(), block.whole) })
	b.Run("block/encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(block.whole)))
		for b.Loop() {
			if _, f := c.Encode(h.Hash, block.whole); f != nil {
				b.Fatal(f)
			}
		}
	})
	receipts := sample{"eth_getBlockReceipts", `["` + hash + `"]`, block.receipted}
	b.Run("receipts/check", func(b *testing.B) { benchmark(b, c, receipts.ask(), block.receipted) })
	b.Run("receipts/encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(block.receipted)))
		for b.Loop() {
			if _, _, f := c.EncodeReceipts(h, block.receipted); f != nil {
				b.Fatal(f)
			}
		}
	})
}
