package form_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// opDeposit is a transaction of OP Mainnet, block 128359212, as a node answered it.
const opDeposit = `{"blockHash":"0x1ff2fcd80ed93d75855364f7e879795dbd5790210c5224ad2c1083d9744297d6","blockNumber":"0x7a69b2c","blockTimestamp":"0x67411011",` +
	`"from":"0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001","gas":"0xf4240","gasPrice":"0x0","hash":"0x4fae8f6c70a4f50cf8894bf9847ed364922826658c3cb73e291e03934637a853",` +
	`"input":"0x440a5e200000146b000f79c500000000000000040000000067410f83000000000144320300000000000000000000000000000000000000000000000000000002fe2cca3c` +
	`00000000000000000000000000000000000000000000000000000000001f11bf37aac56bf514562b0ee38600119c0a4f70b20f0c6abc66a2011d1bdd9b18cb1c` +
	`0000000000000000000000006887246668a3b87f54deb3b94ba47a6f63f32985","nonce":"0x160d8b6","to":"0x4200000000000000000000000000000000000015",` +
	`"transactionIndex":"0x0","value":"0x0","type":"0x7e","v":"0x0","r":"0x0","s":"0x0",` + opExtra + `}`

const opExtra = `"sourceHash":"0xf14ecb423df1f95f609d9781126cdd9ea4d248f4502c083507b2f1f72aa779a8","mint":"0x0","depositReceiptVersion":"0x1"`

// depositRLP has the fields of a deposit in the order in which they are hashed.
type depositRLP struct {
	Source   common.Hash
	From     common.Address
	To       *common.Address `rlp:"nil"`
	Mint     *big.Int
	Value    *big.Int
	Gas      uint64
	IsSystem bool
	Data     []byte
}

func (d *depositRLP) raw(t fataler) []byte { return append([]byte{deposit}, encode(t, d)...) }

// checkDeposit compares with the decoder of the rlp package what is read of a deposit.
func checkDeposit(t fataler, w *form.Writer, raw []byte) (read bool) {
	t.Helper()
	p, d := fuzzPlace(), new(depositRLP)
	got, ok := w.Transaction([]byte(prefix), p.head(), &form.Tx{Index: p.index, Raw: raw, From: p.from, Nonce: 0x105})
	err := rlp.DecodeBytes(raw[1:], d)
	if err != nil || d.From != p.from || d.Mint.BitLen() > 256 || d.Value.BitLen() > 256 {
		if ok || string(got) != prefix {
			t.Fatalf("%x: written, but the decoder says %v: %s", raw, err, got)
		}
		return false
	}
	want := marshal(t, &transactionJSON{
		BlockHash: p.hash, BlockNumber: hexutil.Uint64(p.number), BlockTimestamp: hexutil.Uint64(p.time), From: p.from, Gas: hexutil.Uint64(d.Gas),
		GasPrice: new(hexutil.Big), Hash: crypto.Keccak256Hash(raw), Input: d.Data, Nonce: 0x105, To: d.To, Index: hexutil.Uint64(p.index),
		Value: (*hexutil.Big)(d.Value), Type: deposit, V: new(hexutil.Big), R: new(hexutil.Big), S: new(hexutil.Big),
	})
	if !ok || string(got) != prefix+want {
		t.Fatalf("%x:\ngot  %s (%v)\nwant %s%s", raw, got, ok, prefix, want)
	}
	return true
}

func recordedDeposit(t fataler) (*depositRLP, *form.Head, *form.Tx) {
	to := common.HexToAddress("0x4200000000000000000000000000000000000015")
	d := &depositRLP{
		Source: common.HexToHash("0xf14ecb423df1f95f609d9781126cdd9ea4d248f4502c083507b2f1f72aa779a8"),
		From:   common.HexToAddress("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001"), To: &to, Mint: new(big.Int), Value: new(big.Int), Gas: 0xf4240,
	}
	var shown struct {
		Input string
		Hash  common.Hash
	}
	if err := json.Unmarshal([]byte(opDeposit), &shown); err != nil {
		t.Fatal(err)
	}
	d.Data = common.FromHex(shown.Input)
	if got := crypto.Keccak256Hash(d.raw(t)); got != shown.Hash {
		t.Fatalf("the deposit hashes to %x, want %x", got, shown.Hash)
	}
	head := &form.Head{
		Hash: common.HexToHash("0x1ff2fcd80ed93d75855364f7e879795dbd5790210c5224ad2c1083d9744297d6"), Number: 0x7a69b2c, Time: 0x67411011, HasBaseFee: true,
		BaseFee: [32]byte{31: 9},
	}
	return d, head, &form.Tx{Raw: d.raw(t), From: d.From, Nonce: 0x160d8b6, Extra: []byte(opExtra)}
}

func TestDeposit(t *testing.T) {
	w := form.New()
	d, head, tx := recordedDeposit(t)
	if got, ok := w.Transaction(nil, head, tx); !ok || string(got) != opDeposit {
		t.Errorf("got  %s (%v)\nwant %s", got, ok, opDeposit)
	}
	other := *tx
	other.From[0]++
	if got, ok := w.Transaction(nil, head, &other); ok {
		t.Errorf("a deposit of another sender is written: %s", got)
	}
	odd := append([]byte{deposit}, encode(t, []any{d.Source, d.From, d.To, d.Mint, d.Value, d.Gas, uint64(2), d.Data})...)
	if got, ok := w.Transaction(nil, head, &form.Tx{Raw: odd, From: d.From}); ok {
		t.Errorf("a deposit is written whose flag is neither true nor false: %s", got)
	}
}

// TestDepositReceipt checks rows of deposits before and after the fork Canyon, and the
// address of a contract that a deposit creates.
func TestDepositReceipt(t *testing.T) {
	w := form.New()
	d, head, tx := recordedDeposit(t)
	d.To = nil
	tx.Raw = d.raw(t)
	logs := []*types.Log{{Address: logger, Topics: []common.Hash{{4}}, Data: []byte{1}}}
	bloom := types.CreateBloom(&types.Receipt{Logs: logs})
	const nonce, version = 0x160d8b6, 1
	for name, raw := range map[string][]byte{
		"canyon": append([]byte{deposit}, encode(t, []any{uint64(1), uint64(46_000), bloom, logs, uint64(nonce), uint64(version)})...),
		"before": append([]byte{deposit}, encode(t, []any{uint64(1), uint64(46_000), bloom, logs})...),
	} {
		row, sum, ok := w.Slim(nil, raw)
		if !ok || sum != (form.Slim{Cumulative: 46_000, Logs: 1}) {
			t.Fatalf("%s: the row says %+v (%v)", name, sum, ok)
		}
		if again, ok := w.Consensus(nil, deposit, row); !ok || !bytes.Equal(again, raw) {
			t.Errorf("%s: the receipt is %x, and %x again", name, raw, again)
		}
		if got, ok := form.DepositNonce(row); ok != (name == "canyon") || ok && got != nonce {
			t.Errorf("%s: the nonce is %#x (%v)", name, got, ok)
		}
		got, ok := w.Receipt(nil, head, tx, &form.Receipt{Row: row, GasUsed: 46_000, Extra: []byte(`"depositNonce":"0x160d8b6"`)})
		var shown map[string]any
		if err := json.Unmarshal(got, &shown); err != nil || !ok {
			t.Fatalf("%s: %v (%v)", got, err, ok)
		}
		contract := crypto.CreateAddress(d.From, nonce)
		if shown["effectiveGasPrice"] != "0x0" || !bytes.Equal(common.FromHex(shown["contractAddress"].(string)), contract[:]) || shown["depositNonce"] != "0x160d8b6" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestDepositFieldsElsewhere checks that receipts of other types have no such fields.
func TestDepositFieldsElsewhere(t *testing.T) {
	w := form.New()
	var bloom types.Bloom
	list := encode(t, []any{uint64(1), uint64(21_000), bloom, []*types.Log{}, uint64(7), uint64(1)})
	for _, raw := range [][]byte{list, append([]byte{2}, list...)} {
		if row, _, ok := w.Slim(nil, raw); ok {
			t.Errorf("%x has the row %x", raw, row)
		}
	}
	row, _, _ := w.Slim(nil, append([]byte{deposit}, list...))
	if raw, ok := w.Consensus(nil, 2, row); ok {
		t.Errorf("the row of a deposit gives the receipt %x", raw)
	}
	r := transfers(t, w, 1)
	if got, ok := w.Receipt(nil, r.block.Head, r.txs[0], &form.Receipt{Row: row}); ok {
		t.Errorf("the row of a deposit is written for a transfer: %s", got)
	}
}
