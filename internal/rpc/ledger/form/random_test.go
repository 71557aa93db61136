package form_test

import (
	"bytes"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// The draw functions make data that chains rarely have: numbers of any size, empty lists
// and long ones, signatures that nobody made.

func drawBytes(t *rapid.T, most int, label string) []byte {
	return rapid.SliceOfN(rapid.Byte(), 0, most).Draw(t, label)
}

func drawHash(t *rapid.T, label string) (h common.Hash) {
	copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label))
	return h
}

func drawAddress(t *rapid.T, label string) (a common.Address) {
	copy(a[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, label))
	return a
}

// drawBig is a number of any size up to 256 bits.
func drawBig(t *rapid.T, label string) *big.Int {
	return new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, label))
}

func drawWord(t *rapid.T, label string) *uint256.Int {
	return uint256.MustFromBig(drawBig(t, label))
}

func drawHashes(t *rapid.T, most int, label string) []common.Hash {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) common.Hash { return drawHash(t, "hash") }), 0, most).Draw(t, label)
}

func drawTo(t *rapid.T) *common.Address {
	if rapid.Bool().Draw(t, "creation") {
		return nil
	}
	to := drawAddress(t, "to")
	return &to
}

func drawAccessList(t *rapid.T) types.AccessList {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) types.AccessTuple {
		return types.AccessTuple{Address: drawAddress(t, "address"), StorageKeys: drawHashes(t, 3, "keys")}
	}), 0, 4).Draw(t, "access list")
}

func drawAuthorizations(t *rapid.T) []types.SetCodeAuthorization {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) types.SetCodeAuthorization {
		return types.SetCodeAuthorization{
			ChainID: *drawWord(t, "chain id"), Address: drawAddress(t, "address"), Nonce: rapid.Uint64().Draw(t, "nonce"),
			V: rapid.Byte().Draw(t, "v"), R: *drawWord(t, "r"), S: *drawWord(t, "s"),
		}
	}), 0, 4).Draw(t, "authorizations")
}

// drawV is a signature's v: that of any chain, or something that no signature has.
func drawV(t *rapid.T) *big.Int {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) *big.Int { return big.NewInt(rapid.Int64Range(0, 40).Draw(t, "small")) }),
		rapid.Custom(func(t *rapid.T) *big.Int { return drawBig(t, "any") }),
	).Draw(t, "v")
}

func drawTransaction(t *rapid.T) *types.Transaction {
	nonce, gas := rapid.Uint64().Draw(t, "nonce"), rapid.Uint64().Draw(t, "gas")
	data, r, s := drawBytes(t, 80, "input"), drawBig(t, "r"), drawBig(t, "s")
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case types.LegacyTxType:
		return types.NewTx(&types.LegacyTx{
			Nonce: nonce, GasPrice: drawBig(t, "price"), Gas: gas, To: drawTo(t), Value: drawBig(t, "value"), Data: data, V: drawV(t), R: r, S: s,
		})
	case types.AccessListTxType:
		return types.NewTx(&types.AccessListTx{
			ChainID: drawBig(t, "chain"), Nonce: nonce, GasPrice: drawBig(t, "price"), Gas: gas, To: drawTo(t), Value: drawBig(t, "value"), Data: data,
			AccessList: drawAccessList(t), V: drawV(t), R: r, S: s,
		})
	case types.DynamicFeeTxType:
		return types.NewTx(&types.DynamicFeeTx{
			ChainID: drawBig(t, "chain"), Nonce: nonce, GasTipCap: drawBig(t, "tip"), GasFeeCap: drawBig(t, "cap"), Gas: gas, To: drawTo(t),
			Value: drawBig(t, "value"), Data: data, AccessList: drawAccessList(t), V: drawV(t), R: r, S: s,
		})
	case types.BlobTxType:
		return types.NewTx(&types.BlobTx{
			ChainID: drawWord(t, "chain"), Nonce: nonce, GasTipCap: drawWord(t, "tip"), GasFeeCap: drawWord(t, "cap"), Gas: gas, To: drawAddress(t, "to"),
			Value: drawWord(t, "value"), Data: data, AccessList: drawAccessList(t), BlobFeeCap: drawWord(t, "blob cap"), BlobHashes: drawHashes(t, 6, "blobs"),
			V: drawWord(t, "v"), R: uint256.MustFromBig(r), S: uint256.MustFromBig(s),
		})
	}
	return types.NewTx(&types.SetCodeTx{
		ChainID: drawWord(t, "chain"), Nonce: nonce, GasTipCap: drawWord(t, "tip"), GasFeeCap: drawWord(t, "cap"), Gas: gas, To: drawAddress(t, "to"),
		Value: drawWord(t, "value"), Data: data, AccessList: drawAccessList(t), AuthList: drawAuthorizations(t),
		V: drawWord(t, "v"), R: uint256.MustFromBig(r), S: uint256.MustFromBig(s),
	})
}

// drawPlace is a block, with a base fee that is often near what transactions pay.
func drawPlace(t *rapid.T) *place {
	p := &place{
		hash: drawHash(t, "block"), number: rapid.Uint64().Draw(t, "number"), time: rapid.Uint64().Draw(t, "time"),
		index: rapid.Uint64Max(1<<24).Draw(t, "index"), blobPrice: drawBig(t, "blob price"), from: drawAddress(t, "from"),
	}
	if rapid.Bool().Draw(t, "london") {
		p.baseFee = drawBig(t, "base fee")
	}
	return p
}

// drawExtra are members that only some networks have.
func drawExtra(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", `"l1Fee":"0x1"`, `"l1BlockNumber":"0x1","sendCount":"0x2"`}).Draw(t, "extra")
}

// withExtra puts members at the end of an object.
func withExtra(object, extra string) string {
	if extra == "" {
		return object
	}
	return object[:len(object)-1] + "," + extra + "}"
}

func TestRandomTransactions(t *testing.T) {
	w := form.New()
	rapid.Check(t, func(t *rapid.T) {
		tx, p, extra := drawTransaction(t), drawPlace(t), drawExtra(t)
		row := &form.Tx{Index: p.index, Raw: marshalTx(t, tx), From: p.from, Extra: []byte(extra)}
		if rapid.Bool().Draw(t, "hash is known") {
			row.Hash = tx.Hash()
		}
		// What is decoded again is what a node has: it has no lists that are nil.
		decoded := new(types.Transaction)
		if err := decoded.UnmarshalBinary(row.Raw); err != nil {
			t.Fatal(err)
		}
		want := withExtra(wantTransaction(t, p, decoded), extra)
		got, ok := w.Transaction([]byte(prefix), p.head(), row)
		if !ok || string(got) != prefix+want {
			t.Fatalf("got  %s (%v)\nwant %s%s", got, ok, prefix, want)
		}
	})
}

func marshalTx(t *rapid.T, tx *types.Transaction) []byte {
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// drawReceipt is a receipt as it is hashed. Its logs share addresses and topics, as those of
// chains do.
func drawReceipt(t *rapid.T, kind byte) *types.Receipt {
	r := &types.Receipt{Type: kind, CumulativeGasUsed: rapid.Uint64().Draw(t, "cumulative"), Logs: []*types.Log{}}
	switch rapid.IntRange(0, 2).Draw(t, "outcome") {
	case 0:
		r.PostState = drawHash(t, "root").Bytes()
	case 1:
		r.Status = types.ReceiptStatusSuccessful
	}
	address, topic := drawAddress(t, "address"), drawHash(t, "topic")
	for range rapid.IntRange(0, 5).Draw(t, "logs") {
		l := &types.Log{Address: address, Data: drawBytes(t, 70, "data"), Topics: drawHashes(t, 5, "topics")}
		if rapid.Bool().Draw(t, "another") {
			l.Address = drawAddress(t, "address")
		}
		for i := range l.Topics {
			if rapid.Bool().Draw(t, "shared") {
				l.Topics[i] = topic
			}
		}
		r.Logs = append(r.Logs, l)
	}
	r.Bloom = types.CreateBloom(r)
	return r
}

func TestRandomReceipts(t *testing.T) {
	w := form.New()
	rapid.Check(t, func(t *rapid.T) {
		tx, p, extra := drawTransaction(t), drawPlace(t), drawExtra(t)
		receipt := drawReceipt(t, tx.Type())
		raw, err := receipt.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		row, sum, ok := w.Slim([]byte(prefix), raw)
		if !ok || sum.Cumulative != receipt.CumulativeGasUsed || sum.Logs != uint64(len(receipt.Logs)) {
			t.Fatalf("the row says %+v (%v) of %+v", sum, ok, receipt)
		}
		row = row[len(prefix):]
		checkRow(t, w, row, receipt, raw)

		gas, first := rapid.Uint64().Draw(t, "gas used"), rapid.Uint64Max(1<<30).Draw(t, "first log")
		want := withExtra(wantReceipt(t, p, tx, receipt, gas, first), extra)
		got, ok := w.Receipt([]byte(prefix), p.head(), &form.Tx{Index: p.index, Raw: marshalTx(t, tx), From: p.from},
			&form.Receipt{Row: row, GasUsed: gas, FirstLog: first, Extra: []byte(extra)})
		if !ok || string(got) != prefix+want {
			t.Fatalf("got  %s (%v)\nwant %s%s", got, ok, prefix, want)
		}
	})
}

// checkRow checks that a row is what go-ethereum stores, and that the receipt, its bloom
// filter and its logs come back.
func checkRow(t *rapid.T, w *form.Writer, row []byte, receipt *types.Receipt, raw []byte) {
	var stored bytes.Buffer
	if err := (*types.ReceiptForStorage)(receipt).EncodeRLP(&stored); err != nil || !bytes.Equal(stored.Bytes(), row) {
		t.Fatalf("the row is %x, go-ethereum's is %x (%v)", row, stored.Bytes(), err)
	}
	if again, ok := w.Consensus([]byte(prefix), receipt.Type, row); !ok || string(again) != prefix+string(raw) {
		t.Fatalf("the receipt is %x, and %x again (%v)", raw, again, ok)
	}
	var bloom types.Bloom
	if !w.Bloom((*[form.BloomBytes]byte)(&bloom), row) || bloom != receipt.Bloom {
		t.Fatalf("the bloom filter is %x, want %x", bloom, receipt.Bloom)
	}
	logs, i := form.LogsOf(row), 0
	for ; logs.Next(); i++ {
		want := receipt.Logs[i]
		if !bytes.Equal(logs.Address, want.Address[:]) || !bytes.Equal(logs.Data, want.Data) || logs.Topics() != len(want.Topics) {
			t.Fatalf("log %d is %+v, want %+v", i, logs.Log, want)
		}
		for j, topic := range want.Topics {
			if common.Hash(logs.Topic(j)) != topic {
				t.Fatalf("topic %d of log %d is %x, want %x", j, i, logs.Topic(j), topic)
			}
		}
	}
	if !logs.OK() || i != len(receipt.Logs) {
		t.Fatalf("%d logs, want %d", i, len(receipt.Logs))
	}
}

// drawHeader is a header of any fork. Hashes may be missing before fields that are there.
func drawHeader(t *rapid.T) *types.Header {
	h := &types.Header{
		ParentHash: drawHash(t, "parent"), UncleHash: drawHash(t, "uncles"), Coinbase: drawAddress(t, "miner"), Root: drawHash(t, "state"),
		TxHash: drawHash(t, "transactions"), ReceiptHash: drawHash(t, "receipts"), Difficulty: drawBig(t, "difficulty"),
		Number: new(big.Int).SetUint64(rapid.Uint64().Draw(t, "number")), GasLimit: rapid.Uint64().Draw(t, "limit"), GasUsed: rapid.Uint64().Draw(t, "used"),
		Time: rapid.Uint64().Draw(t, "time"), Extra: drawBytes(t, 100, "extra data"), MixDigest: drawHash(t, "mix"),
		Nonce: types.EncodeNonce(rapid.Uint64().Draw(t, "nonce")),
	}
	copy(h.Bloom[:], rapid.SliceOfN(rapid.Byte(), 0, 256).Draw(t, "bloom"))
	fields := []func(){
		func() { h.BaseFee = drawBig(t, "base fee") },
		func() { h.WithdrawalsHash = drawOptional(t, "withdrawals") },
		func() { h.BlobGasUsed = drawNumber(t, "blob gas") },
		func() { h.ExcessBlobGas = drawNumber(t, "excess") },
		func() { h.ParentBeaconRoot = drawOptional(t, "beacon root") },
		func() { h.RequestsHash = drawOptional(t, "requests") },
		func() { h.BlockAccessListHash = drawOptional(t, "block access list") },
		func() { h.SlotNumber = drawNumber(t, "slot") },
	}
	for _, set := range fields[:rapid.IntRange(0, len(fields)).Draw(t, "fields")] {
		set()
	}
	return h
}

func drawNumber(t *rapid.T, label string) *uint64 {
	n := rapid.Uint64().Draw(t, label)
	return &n
}

func drawOptional(t *rapid.T, label string) *common.Hash {
	if rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
		return nil
	}
	h := drawHash(t, label)
	return &h
}

func TestRandomHeaders(t *testing.T) {
	w := form.New()
	rapid.Check(t, func(t *rapid.T) {
		h, extra := drawHeader(t), drawExtra(t)
		raw := encode(t, h)
		head, ok := w.Head(raw)
		if !ok {
			t.Fatalf("the header can't be read: %+v", h)
		}
		checkHead(t, &head, h)
		want := withExtra(marshal(t, wantHeader(h, h.Hash())), extra)
		got, ok := w.Header([]byte(prefix), &head, raw, []byte(extra))
		if !ok || string(got) != prefix+want {
			t.Fatalf("got  %s (%v)\nwant %s%s", got, ok, prefix, want)
		}
	})
}

func checkHead(t *rapid.T, head *form.Head, h *types.Header) {
	want := form.Head{Hash: h.Hash(), Parent: h.ParentHash, Number: h.Number.Uint64(), Time: h.Time, GasLimit: h.GasLimit, GasUsed: h.GasUsed}
	if h.BaseFee != nil {
		want.HasBaseFee = true
		h.BaseFee.FillBytes(want.BaseFee[:])
	}
	if h.BlobGasUsed != nil {
		want.BlobGasUsed = *h.BlobGasUsed
	}
	if h.ExcessBlobGas != nil {
		want.HasBlobGas, want.ExcessBlobGas = true, *h.ExcessBlobGas
	}
	if *head != want {
		t.Fatalf("got %+v, want %+v", *head, want)
	}
}

// TestRandomBlocks compares whole blocks: their size, their lists, and the order of members.
func TestRandomBlocks(t *testing.T) {
	w := form.New()
	rapid.Check(t, func(t *rapid.T) {
		body := types.Body{Transactions: rapid.SliceOfN(rapid.Custom(drawTransaction), 0, 4).Draw(t, "transactions")}
		body.Uncles = rapid.SliceOfN(rapid.Custom(drawHeader), 0, 2).Draw(t, "uncles")
		header := drawHeader(t)
		if header.BaseFee != nil { // in RLP, one that is missing before the withdrawals root is zero
			body.Withdrawals = drawWithdrawals(t)
		}
		block := types.NewBlock(header, &body, nil, trie.NewListHasher())
		r := blockRows(t, w, block)
		p := &place{hash: block.Hash(), number: block.NumberU64(), time: block.Time(), baseFee: block.BaseFee()}

		for _, full := range []bool{false, true} {
			want := withExtra(wantBlock(t, p, block, full), string(r.block.Extra))
			got, ok := w.Block([]byte(prefix), &r.block, full, r.transactions())
			if !ok || string(got) != prefix+want {
				t.Fatalf("full %v: got  %s (%v)\nwant %s%s", full, got, ok, prefix, want)
			}
		}
	})
}

func drawWithdrawals(t *rapid.T) types.Withdrawals {
	if rapid.Bool().Draw(t, "before Shanghai") {
		return nil
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *types.Withdrawal {
		return &types.Withdrawal{
			Index: rapid.Uint64().Draw(t, "index"), Validator: rapid.Uint64().Draw(t, "validator"), Address: drawAddress(t, "address"), Amount: rapid.Uint64().Draw(t, "amount"),
		}
	}), 0, 4).Draw(t, "withdrawals")
}

func blockRows(t *rapid.T, w *form.Writer, block *types.Block) *rows {
	r := &rows{block: form.Block{Header: encode(t, block.Header()), Extra: []byte(drawExtra(t))}}
	head, ok := w.Head(r.block.Header)
	if !ok {
		t.Fatal("the header can't be read")
	}
	r.block.Head = &head
	for _, u := range block.Uncles() {
		r.block.Uncles = append(r.block.Uncles, u.Hash())
	}
	if block.Withdrawals() != nil {
		var elements []byte
		for _, one := range block.Withdrawals() {
			elements = append(elements, encode(t, one)...)
		}
		r.block.Withdrawals = form.AppendList([]byte{}, elements)
	}
	var raws [][]byte
	for i, tx := range block.Transactions() {
		raws = append(raws, marshalTx(t, tx))
		r.txs = append(r.txs, &form.Tx{Index: uint64(i), Raw: raws[i]})
	}
	var uncles []byte
	if len(block.Uncles()) > 0 {
		uncles = encode(t, block.Uncles())
	}
	r.block.Size = form.Size(r.block.Header, slices.Values(raws), uncles, r.block.Withdrawals)
	return r
}
