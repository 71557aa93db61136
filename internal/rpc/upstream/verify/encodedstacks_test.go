package verify

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	gethtrie "github.com/ethereum/go-ethereum/trie"
)

// deposit is a transaction of the OP stack as its specification has it.
type deposit struct {
	SourceHash common.Hash
	From       common.Address
	To         *common.Address `rlp:"nil"`
	Mint       *big.Int        `rlp:"nil"`
	Value      *big.Int
	Gas        uint64
	IsSystemTx bool
	Data       []byte
}

// deposits are real and made ones: as a node shows them, and their encoding.
func deposits(t *testing.T) (shown []fields, encoded [][]byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/chains.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if real, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("op plain eth_getTransactionByHash ")); ok && bytes.Contains(real, []byte(`"type":"0x7e"`)) {
			shown = append(shown, parse(json.RawMessage(real)))
		}
	}
	if len(shown) == 0 {
		t.Fatal("no deposit of a public chain")
	}
	m := newMaker(9, withRequests)
	for i := range 6 {
		d := fields{"type": "0x7e", "sourceHash": m.hash(), "from": m.address(), "to": m.address(), "mint": (*hexutil.Big)(m.number()), "value": (*hexutil.Big)(m.number()),
			"gas": hexutil.Uint64(m.small()), "isSystemTx": i%2 == 0, "input": hexutil.Bytes(m.data()), "nonce": hexutil.Uint64(m.small())}
		if i > 3 {
			d["to"], d["mint"] = nil, nil
		}
		shown = append(shown, parse(d))
	}
	for _, d := range shown {
		var v struct {
			Hash, SourceHash *common.Hash
			From             common.Address
			To               *common.Address
			Mint, Value      *hexutil.Big
			Gas              hexutil.Uint64
			IsSystemTx       bool
			Input            hexutil.Bytes
		}
		if err := json.Unmarshal(write(d), &v); err != nil {
			t.Fatal(err)
		}
		list, err := rlp.EncodeToBytes(&deposit{*v.SourceHash, v.From, v.To, v.Mint.ToInt(), v.Value.ToInt(), uint64(v.Gas), v.IsSystemTx, v.Input})
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, append([]byte{depositType}, list...))
		hash := crypto.Keccak256Hash(encoded[len(encoded)-1])
		if v.Hash != nil && *v.Hash != hash {
			t.Fatalf("the test encodes %s wrongly", write(d))
		}
		d["hash"] = hash
	}
	return shown, encoded
}

// opReceipt is a receipt of a deposit. Its nonce is hashed since the fork Canyon.
type opReceipt struct {
	Status        []byte
	CumulativeGas uint64
	Bloom         types.Bloom
	Logs          []*types.Log
	Nonce         *uint64 `rlp:"optional"`
	Version       *uint64 `rlp:"optional"`
}

// opBlock is a block of the OP stack: deposits, then others. Its receipts are of a fork.
type opBlock struct {
	header           *types.Header
	whole, receipted []byte
	txs, receipts    trieList
}

// The forks of deposit receipts.
const (
	bedrock = iota
	regolith
	canyon
)

func makeOP(t *testing.T, fork int) *opBlock {
	t.Helper()
	m := newMaker(uint64(fork), withRequests)
	rows, encoded := deposits(t)
	b := &opBlock{txs: encoded}
	var receipts []*types.Receipt
	for i := range rows {
		hash, kind := rows[i]["hash"].(common.Hash), uint8(depositType)
		r := &types.Receipt{Type: kind, Status: 1, CumulativeGasUsed: m.small(), TxHash: hash, Logs: []*types.Log{{Address: m.address(), Topics: m.hashes(), Data: m.data()}}}
		r.Bloom = types.CreateBloom(r)
		receipts = append(receipts, r)
	}
	for range 3 {
		tx := m.transaction()
		raw, err := tx.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		b.txs, rows, receipts = append(b.txs, raw), append(rows, parse(tx)), append(receipts, m.receipt(tx))
	}
	var nonces []*uint64
	for _, r := range receipts {
		var nonce *uint64
		if r.Type == depositType && fork > bedrock {
			n := m.small()
			nonce = &n
		}
		nonces = append(nonces, nonce)
		b.receipts = append(b.receipts, encodeOP(t, r, nonce, fork))
	}
	storage := m.hash()
	b.header = m.header()
	b.header.UncleHash, b.header.WithdrawalsHash = types.EmptyUncleHash, &storage
	b.header.TxHash, b.header.ReceiptHash = types.DeriveSha(b.txs, gethtrie.NewStackTrie(nil)), types.DeriveSha(b.receipts, gethtrie.NewStackTrie(nil))
	b.header.Bloom = types.MergeBloom(receipts)
	empty := show(types.NewBlockWithHeader(b.header), receipts)
	for i := range rows {
		placed(rows[i], empty.Block, i)
	}
	b.whole = empty.changed(fields{"transactions": rows, "withdrawals": []string{}})
	var list []fields
	if err := json.Unmarshal(empty.receipted, &list); err != nil {
		t.Fatal(err)
	}
	for i, nonce := range nonces {
		if nonce != nil {
			list[i]["depositNonce"] = hexutil.Uint64(*nonce)
		}
		if nonce != nil && fork == canyon {
			list[i]["depositReceiptVersion"] = "0x1"
		}
	}
	b.receipted = write(list)
	return b
}

// encodeOP encodes a receipt; those of other types are go-ethereum's.
func encodeOP(t *testing.T, r *types.Receipt, nonce *uint64, fork int) []byte {
	t.Helper()
	if r.Type != depositType {
		return encodings(types.Receipts{r})[0]
	}
	own := opReceipt{Status: []byte{1}, CumulativeGas: r.CumulativeGasUsed, Bloom: r.Bloom, Logs: r.Logs}
	if version := uint64(1); fork == canyon {
		own.Nonce, own.Version = nonce, &version
	}
	list, err := rlp.EncodeToBytes(&own)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{depositType}, list...)
}

// TestEncodeOP encodes blocks with deposits, of which one is of a public chain.
func TestEncodeOP(t *testing.T) {
	for fork := range canyon + 1 {
		b := makeOP(t, fork)
		c, name := New(stackOP), &shown{Block: types.NewBlockWithHeader(b.header)}
		e, f := c.Encode(b.header.Hash(), b.whole)
		if f != nil {
			t.Fatalf("%v\n%s", f, b.whole)
		}
		compareList(t, name, "transactions", &e.Transactions, b.txs)
		if !e.HasWithdrawals || e.Withdrawals.Len() != 0 || e.Held.Has(WithdrawalsRoot) || !e.Held.Has(TransactionsRoot) {
			t.Errorf("held %b, withdrawals: %v", e.Held, e.HasWithdrawals)
		}
		hidden := bytes.Replace(b.whole, []byte(`"withdrawals":[],`), nil, 1)
		if without, f := c.Encode(b.header.Hash(), hidden); f != nil || len(hidden) == len(b.whole) || !reflect.DeepEqual(without, e) {
			t.Errorf("without a list of withdrawals: %v", f)
		}
		list, held, f := c.EncodeReceipts(e.Header, b.receipted)
		if f != nil || !held.Has(ReceiptsRoot) {
			t.Fatalf("%v\n%s", f, b.receipted)
		}
		compareList(t, name, "receipts", &list, b.receipts)
		if _, f := New("").Encode(b.header.Hash(), b.whole); f == nil || !f.Foreign || f.Kind != WithdrawalsRoot {
			t.Errorf("a network that isn't known to be of the stack: %v", f)
		}
		lied := bytes.Replace(b.receipted, []byte(`"depositNonce":"0x`), []byte(`"depositNonce":"0x1`), 1)
		if _, _, f := c.EncodeReceipts(e.Header, lied); (f != nil) != (fork == canyon) {
			t.Errorf("fork %d: a lie about a nonce: %v", fork, f)
		}
		missed := map[string]bool{}
		for _, tok := range hexTokens(b.whole) {
			if _, f := c.Encode(b.header.Hash(), lie(b.whole, tok)); f == nil {
				missed[tok.path] = true
			}
		}
		for path := range missed {
			// Outside the hash; nodes show the nonce that the sender's account had.
			if !slices.Contains([]string{
				".transactions[].from", ".transactions[].gasPrice", ".transactions[].blockTimestamp", ".transactions[].nonce", ".transactions[].v", ".transactions[].r",
				".transactions[].s", ".transactions[].depositReceiptVersion",
			}, path) {
				t.Errorf("a lie about %s is not found", path)
			}
		}
	}
}

// TestEncodeOPDeposits: no member of a deposit that is encoded can be changed.
func TestEncodeOPDeposits(t *testing.T) {
	b := makeOP(t, canyon)
	c := New(stackOP)
	parts, _ := members(b.whole, "transactions")
	rows, _ := elements(nil, parts[0])
	tried := 0
	for _, row := range rows {
		if !bytes.Contains(row, []byte(`"type":"0x7e"`)) {
			continue
		}
		for _, tok := range hexTokens(row) {
			if slices.Contains([]string{".gasPrice", ".nonce", ".v", ".r", ".s", ".blockTimestamp", ".depositReceiptVersion"}, tok.path) {
				continue
			}
			tried++
			if _, f := c.Encode(b.header.Hash(), bytes.Replace(b.whole, row, lie(row, tok), 1)); f == nil {
				t.Errorf("a lie about a deposit's %s is not found", tok.path)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d lies were tried", tried)
	}
}

// stateSync adds to a block what Polygon's nodes show for state from the base chain.
func stateSync(b *shown, at int) (whole, receipted []byte) {
	number := binary.BigEndian.AppendUint64(nil, b.NumberU64())
	hash := crypto.Keccak256Hash([]byte("matic-bor-receipt-"), number, b.Hash().Bytes())
	tx := fields{"hash": hash, "type": "0x0", "nonce": "0x0", "gasPrice": "0x0", "gas": "0x0", "to": common.Address{}, "value": "0x0", "input": "0x", "v": "0x0", "r": "0x0", "s": "0x0", "from": common.Address{}}
	var all struct{ Transactions []fields }
	if err := json.Unmarshal(b.whole, &all); err != nil {
		panic(err)
	}
	list := slices.Insert(all.Transactions, at, tx)
	for i := range list {
		placed(list[i], b.Block, i)
	}
	logs := 0
	for _, r := range b.receipts {
		logs += len(r.Logs)
	}
	r := &types.Receipt{Status: 1, TxHash: hash, Logs: []*types.Log{{
		Address: common.Address{1}, Topics: []common.Hash{{2}}, BlockNumber: b.NumberU64(), BlockHash: b.Hash(), TxHash: hash, TxIndex: uint(len(b.receipts)), Index: uint(logs),
	}}}
	r.Bloom = types.CreateBloom(r)
	row := placed(parse(r), b.Block, len(b.receipts))
	delete(row, "root")
	var rows []fields
	if err := json.Unmarshal(b.receipted, &rows); err != nil {
		panic(err)
	}
	return b.changed(fields{"transactions": list}), write(append(rows, row))
}

// TestEncodePolygon: state from the base chain is outside the roots, and after all else.
func TestEncodePolygon(t *testing.T) {
	b := newMaker(11, baseFees).block(4)
	c := New("")
	whole, receipted := stateSync(b, 4)
	e, f := c.Encode(b.Hash(), whole)
	if f != nil || !slices.Equal(e.Outside, []int{4}) {
		t.Fatalf("%v, %+v", f, e)
	}
	e.Outside = nil
	b.compare(t, e)
	list, held, f := c.EncodeReceipts(e.Header, receipted)
	if f != nil {
		t.Fatal(f)
	}
	b.compareReceipts(t, &list, held)
	for at := range 4 {
		whole, _ := stateSync(b, at)
		if _, f := c.Encode(b.Hash(), whole); f == nil || f.Kind != Placement {
			t.Errorf("at %d: %v", at, f)
		}
	}
	var all struct{ Transactions []fields }
	if err := json.Unmarshal(whole, &all); err != nil {
		t.Fatal(err)
	}
	twice := append(all.Transactions, fields{})
	for name, value := range twice[4] {
		twice[5][name] = value
	}
	placed(twice[5], b.Block, 5)
	if _, f := c.Encode(b.Hash(), b.changed(fields{"transactions": twice})); f == nil || f.Kind != Placement {
		t.Errorf("twice: %v", f)
	}
}

// TestEncodeOwnTypes: blocks with types that have no known encoding keep their header only.
func TestEncodeOwnTypes(t *testing.T) {
	b := newMaker(2, baseFees).block(3)
	var all struct{ Transactions []fields }
	if err := json.Unmarshal(b.whole, &all); err != nil {
		t.Fatal(err)
	}
	all.Transactions[0]["type"] = "0x6a"
	own := b.changed(fields{"transactions": all.Transactions})
	if _, f := New("").Encode(b.Hash(), own); f == nil || !f.Foreign || f.Kind != TransactionHash {
		t.Errorf("a network that isn't known to be of the stack: %v", f)
	}
	e, f := New(stackArbitrum).Encode(b.Hash(), own)
	if f != nil || e.Held.Has(TransactionsRoot) || e.Transactions.Len() != 0 || !e.Held.Has(HeaderHash) || crypto.Keccak256Hash(e.RLP) != b.Hash() {
		t.Errorf("Arbitrum: %v, %+v", f, e)
	}
	z := New(stackZkSync)
	e, f = z.Encode(b.Hash(), b.changed(fields{"gasUsed": "0x123"}))
	if f != nil || e.Held.Has(HeaderHash) || e.Held.Has(TransactionsRoot) || e.Header != nil || e.RLP != nil || e.Transactions.Len() != 0 {
		t.Errorf("zkSync: %v, %+v", f, e)
	}
	list, held, f := z.EncodeReceipts(&Header{Hash: b.Hash(), Number: b.NumberU64()}, b.receipted)
	if f != nil || held.Has(ReceiptsRoot) || list.Len() != 0 {
		t.Errorf("zkSync: %v, %b, %d receipts", f, held, list.Len())
	}
}
