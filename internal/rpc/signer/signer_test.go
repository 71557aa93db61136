package signer_test

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/signer"
)

// senderByGeth is the sender as go-ethereum finds it, by the rules of the chain that the
// transaction names itself.
func senderByGeth(tx *types.Transaction) (sender common.Address, err error) {
	var rules types.Signer
	switch id := tx.ChainId(); {
	case tx.Type() == types.LegacyTxType && !tx.Protected():
		rules = types.FrontierSigner{}
	case tx.Type() == types.LegacyTxType:
		rules = types.NewEIP155Signer(id)
	case id.Sign() > 0:
		rules = types.LatestSignerForChainID(id)
	default: // it has no signer for that
		return sender, types.ErrInvalidChainId
	}
	return types.Sender(rules, tx)
}

// compare holds Sender to go-ethereum for one transaction.
func compare(t interface{ Errorf(string, ...any) }, tx *types.Transaction) {
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	want, err := senderByGeth(tx)
	got, ok := signer.Sender(raw)
	if ok != (err == nil) || ok && got != want {
		t.Errorf("type %d: %x, %v; want %x, %v\n%x", tx.Type(), got, ok, want, err, raw)
	}
}

// key is always the same.
func key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := crypto.HexToECDSA("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// transactions are of every type, with full and with empty fields.
func transactions(chain *big.Int) []types.TxData {
	to, id := common.Address{1}, uint256.MustFromBig(chain)
	list := types.AccessList{{Address: common.Address{2}, StorageKeys: []common.Hash{{3}, {}}}, {Address: common.Address{4}, StorageKeys: []common.Hash{}}}
	data := bytes.Repeat([]byte{0, 0xff}, 300)
	return []types.TxData{
		&types.LegacyTx{To: &to, Gas: 21000, GasPrice: big.NewInt(1)},
		&types.LegacyTx{Nonce: 1 << 63, Gas: 21000, GasPrice: big.NewInt(1), Value: big.NewInt(1e18), Data: data},
		&types.AccessListTx{ChainID: chain, To: &to, GasPrice: big.NewInt(1e9), AccessList: list, Data: []byte{1}},
		&types.AccessListTx{ChainID: chain, Nonce: 128},
		&types.DynamicFeeTx{ChainID: chain, To: &to, GasFeeCap: big.NewInt(1e9), GasTipCap: big.NewInt(7), AccessList: list, Data: data},
		&types.DynamicFeeTx{ChainID: chain, Data: []byte{0x80}},
		&types.BlobTx{ChainID: id, To: to, BlobFeeCap: uint256.NewInt(9), BlobHashes: []common.Hash{{1}, {2}}, AccessList: list},
		&types.BlobTx{ChainID: id},
		&types.SetCodeTx{ChainID: id, To: to, AccessList: list, AuthList: []types.SetCodeAuthorization{{ChainID: *id, Address: to, Nonce: 5, V: 1, R: *id, S: *id}, {}}},
		&types.SetCodeTx{ChainID: id},
	}
}

// TestTypes finds the sender of every type, on chains with small and with large ids.
func TestTypes(t *testing.T) {
	private := key(t)
	want := crypto.PubkeyToAddress(private.PublicKey)
	large := new(big.Int).Lsh(big.NewInt(0x1234567), 231) // of 32 bytes: v has 33
	for _, chain := range []*big.Int{big.NewInt(1), big.NewInt(46), big.NewInt(1337), new(big.Int).SetUint64(1<<63 - 17), new(big.Int).SetUint64(1<<64 - 1), large} {
		for i, data := range transactions(chain) {
			for _, rules := range []types.Signer{types.LatestSignerForChainID(chain), types.HomesteadSigner{}} {
				tx, err := types.SignNewTx(private, rules, data)
				if err != nil {
					continue // only legacy transactions may be without protection
				}
				raw, err := tx.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := signer.Sender(raw); !ok || got != want {
					t.Errorf("transaction %d on chain %d: %x, %v", i, chain, got, ok)
				}
				compare(t, tx)
			}
		}
	}
}

// TestRandom compares random transactions by random keys with go-ethereum.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")
		secret[0], secret[31] = secret[0]>>1, secret[31]|1
		private, err := crypto.ToECDSA(secret)
		if err != nil {
			t.Fatal(err)
		}
		chain := new(big.Int).SetBytes(append(rapid.SliceOfN(rapid.Byte(), 0, 24).Draw(t, "chain"), 1))
		tx := types.MustSignNewTx(private, types.LatestSignerForChainID(chain), randomTransaction(t, chain))
		compare(t, tx)
		if got, err := senderByGeth(tx); err != nil || got != crypto.PubkeyToAddress(private.PublicKey) {
			t.Errorf("go-ethereum finds %x, %v", got, err)
		}
	})
}

func randomTransaction(t *rapid.T, chain *big.Int) types.TxData {
	nonce, gas := rapid.Uint64().Draw(t, "nonce"), rapid.Uint64().Draw(t, "gas")
	data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
	amount := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "amount"))
	to := new(common.Address)
	if len(data)%5 == 0 {
		to = nil
	}
	var list types.AccessList
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		list = append(list, types.AccessTuple{Address: common.BigToAddress(amount), StorageKeys: make([]common.Hash, rapid.IntRange(0, 3).Draw(t, "slots"))})
	}
	id := uint256.MustFromBig(chain)
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case types.LegacyTxType:
		return &types.LegacyTx{Nonce: nonce, Gas: gas, GasPrice: amount, To: to, Value: amount, Data: data}
	case types.AccessListTxType:
		return &types.AccessListTx{ChainID: chain, Nonce: nonce, Gas: gas, GasPrice: amount, To: to, Value: amount, Data: data, AccessList: list}
	case types.DynamicFeeTxType:
		return &types.DynamicFeeTx{ChainID: chain, Nonce: nonce, Gas: gas, GasFeeCap: amount, GasTipCap: amount, To: to, Value: amount, Data: data, AccessList: list}
	case types.BlobTxType:
		return &types.BlobTx{ChainID: id, Nonce: nonce, Gas: gas, Value: uint256.MustFromBig(amount), Data: data, AccessList: list, BlobHashes: make([]common.Hash, len(list))}
	}
	return &types.SetCodeTx{ChainID: id, Nonce: nonce, Gas: gas, Data: data, AccessList: list, AuthList: make([]types.SetCodeAuthorization, len(list))}
}

// TestChains finds the senders of all transactions of the built-in chains, which have all
// types, with and without replay protection.
func TestChains(t *testing.T) {
	found := map[byte]int{}
	for _, preset := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		in := rlp.NewStream(bytes.NewReader(preset.Chain), 0)
		for {
			var block types.Block
			if err := in.Decode(&block); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, tx := range block.Transactions() {
				compare(t, tx)
				found[tx.Type()]++
			}
		}
	}
	if len(found) != 5 {
		t.Errorf("the chains have transactions of these types only: %v", found)
	}
}

// deposit is a deposit of the OP stack as its specification has it.
type deposit struct {
	SourceHash common.Hash
	From       common.Address
	To         *common.Address `rlp:"nil"`
	Mint       *big.Int
	Value      *big.Int
	Gas        uint64
	IsSystemTx bool
	Data       []byte
}

func (d *deposit) encode(t testing.TB) []byte {
	t.Helper()
	list, err := rlp.EncodeToBytes(d)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0x7e}, list...)
}

// public is a transaction as nodes of public chains show it.
type public struct {
	Hash, SourceHash common.Hash
	Type             hexutil.Uint64
	From             common.Address
	To               *common.Address
	Mint, Value      *hexutil.Big
	Gas              hexutil.Uint64
	IsSystemTx       bool
	Input            hexutil.Bytes
}

// TestPublicChains finds the senders that nodes of public chains name. Each transaction is
// encoded here, and must hash to its hash.
func TestPublicChains(t *testing.T) {
	data, err := os.ReadFile("../upstream/verify/testdata/chains.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried, deposits := 0, 0
	for line := range bytes.Lines(data) {
		parts := bytes.SplitN(bytes.TrimSpace(line), []byte(" "), 4)
		if string(parts[1]) != "plain" || string(parts[2]) != "eth_getTransactionByHash" {
			continue
		}
		var shown public
		if err := json.Unmarshal(parts[3], &shown); err != nil {
			t.Fatal(err)
		}
		raw, isDeposit := encodePublic(t, &shown, parts[3])
		if crypto.Keccak256Hash(raw) != shown.Hash {
			t.Fatalf("%s: the test encodes %s wrongly", parts[0], parts[3])
		}
		if got, ok := signer.Sender(raw); !ok || got != shown.From {
			t.Errorf("%s: %x, %v; want %x", parts[0], got, ok, shown.From)
		}
		if tried++; isDeposit {
			deposits++
		}
	}
	if tried < 8 || deposits == 0 {
		t.Errorf("only %d transactions and %d deposits were tried", tried, deposits)
	}
}

func encodePublic(t *testing.T, shown *public, text []byte) (raw []byte, isDeposit bool) {
	t.Helper()
	if shown.Type == 0x7e {
		d := deposit{shown.SourceHash, shown.From, shown.To, shown.Mint.ToInt(), shown.Value.ToInt(), uint64(shown.Gas), shown.IsSystemTx, shown.Input}
		return d.encode(t), true
	}
	var tx types.Transaction
	if err := json.Unmarshal(text, &tx); err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw, false
}

// list is a transaction of raw fields.
func list(t testing.TB, kind byte, fields ...any) []byte {
	t.Helper()
	for i, f := range fields {
		if n, ok := f.(int); ok {
			fields[i] = uint(n)
		}
	}
	out, err := rlp.EncodeToBytes(fields)
	if err != nil {
		t.Fatal(err)
	}
	if kind != 0 {
		out = append([]byte{kind}, out...)
	}
	return out
}

// TestSignatures compares unusual signatures with go-ethereum: numbers that no signature
// has, the wrong v, and the larger one of two values of s, which only the oldest blocks have.
func TestSignatures(t *testing.T) {
	private := key(t)
	order := crypto.S256().Params().N
	half := new(big.Int).Rsh(order, 1)
	accepted := 0
	for _, data := range transactions(big.NewInt(5)) {
		tx := types.MustSignNewTx(private, types.LatestSignerForChainID(big.NewInt(5)), data)
		v, r, s := tx.RawSignatureValues()
		for _, r := range []*big.Int{new(big.Int), big.NewInt(1), big.NewInt(5), r, half, new(big.Int).Sub(order, big.NewInt(1)), order} {
			for _, s := range []*big.Int{new(big.Int), big.NewInt(1), s, half, new(big.Int).Add(half, big.NewInt(1)), new(big.Int).Sub(order, s), order} {
				for _, v := range []*big.Int{v, new(big.Int), big.NewInt(1), big.NewInt(2), big.NewInt(26), big.NewInt(27), big.NewInt(28), big.NewInt(29), big.NewInt(34), big.NewInt(35), big.NewInt(36), new(big.Int).Lsh(v, 64), new(big.Int).Lsh(big.NewInt(27), 64)} {
					changed := withSignature(t, tx, v, r, s)
					compare(t, changed)
					if _, err := senderByGeth(changed); err == nil {
						accepted++
					}
				}
			}
		}
	}
	if accepted < 200 {
		t.Errorf("only %d signatures were accepted: the test compares refusals", accepted)
	}
}

// withSignature is a transaction with another signature, whatever that is.
func withSignature(t *testing.T, tx *types.Transaction, v, r, s *big.Int) *types.Transaction {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	kind := tx.Type()
	if kind != types.LegacyTxType {
		raw = raw[1:]
	}
	var fields []rlp.RawValue
	if err := rlp.DecodeBytes(raw, &fields); err != nil {
		t.Fatal(err)
	}
	var changed []any
	for _, f := range fields[:len(fields)-3] {
		changed = append(changed, f)
	}
	var out types.Transaction
	if err := out.UnmarshalBinary(list(t, kind, append(changed, v, r, s)...)); err != nil {
		t.Fatal(err)
	}
	return &out
}

// TestRefused: what is not a transaction as blocks have it has no sender.
func TestRefused(t *testing.T) {
	private, chain := key(t), big.NewInt(5)
	fee, err := types.MustSignNewTx(private, types.LatestSignerForChainID(chain), &types.DynamicFeeTx{ChainID: chain}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := types.MustSignNewTx(private, types.LatestSignerForChainID(chain), &types.LegacyTx{}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := types.MustSignNewTx(private, types.LatestSignerForChainID(chain), &types.BlobTx{ChainID: uint256.NewInt(5), Sidecar: &types.BlobTxSidecar{}}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	made := deposit{SourceHash: common.Hash{1}, From: common.Address{2}, Mint: new(big.Int), Value: big.NewInt(3)}
	valid := made.encode(t)
	if got, ok := signer.Sender(valid); !ok || got != made.From {
		t.Fatalf("the deposit is of %x, %v", got, ok)
	}
	hash, address := common.Hash{1}, common.Address{2}
	for what, raw := range map[string][]byte{
		"nothing":               nil,
		"a type only":           {2},
		"a string":              {0x83, 1, 2, 3},
		"an empty list":         {0xc0},
		"typed as legacy":       append([]byte{0}, legacy...),
		"of another type":       append([]byte{1}, fee[1:]...),
		"of an unknown type":    append([]byte{5}, fee[1:]...),
		"a legacy list, typed":  append([]byte{2}, legacy...),
		"with a byte after it":  append(bytes.Clone(fee), 0),
		"cut":                   fee[:len(fee)-1],
		"with blobs":            blobs,
		"a field more":          list(t, 0, 0, 0, 0, []byte{}, 0, []byte{}, 27, 1, 1, 1),
		"a field less":          list(t, 0, 0, 0, 0, []byte{}, 0, 27, 1, 1),
		"a list in its place":   list(t, 0, 0, 0, 0, []byte{}, 0, []byte{}, 27, []uint{1}, 1),
		"zeros before r":        list(t, 0, 0, 0, 0, []byte{}, 0, []byte{}, 27, []byte{0, 1}, 1),
		"a long r":              list(t, 0, 0, 0, 0, []byte{}, 0, []byte{}, 27, bytes.Repeat([]byte{1}, 33), 1),
		"a message of Scroll":   list(t, 0x7e, 1, 2, address, 3, []byte{}, address),
		"a deposit with a more": list(t, 0x7e, hash, address, address, 0, 0, 0, 0, []byte{}, 0),
		"a deposit with less":   list(t, 0x7e, hash, address, address, 0, 0, 0, []byte{}),
		"a deposit by a hash":   list(t, 0x7e, hash, hash, address, 0, 0, 0, 0, []byte{}),
		"a deposit of nothing":  list(t, 0x7e, address, address, address, 0, 0, 0, 0, []byte{}),
		"a cut deposit":         valid[:len(valid)-1],
	} {
		if got, ok := signer.Sender(raw); ok {
			t.Errorf("%s: %x", what, got)
		}
	}
}

// FuzzSender: whatever go-ethereum decodes has the sender that it finds, and nothing else
// stops the search.
func FuzzSender(f *testing.F) {
	private, chain := key(f), big.NewInt(1337)
	for _, data := range transactions(chain) {
		for _, rules := range []types.Signer{types.LatestSignerForChainID(chain), types.HomesteadSigner{}} {
			if tx, err := types.SignNewTx(private, rules, data); err == nil {
				raw, _ := tx.MarshalBinary()
				f.Add(raw)
			}
		}
	}
	made := deposit{Mint: new(big.Int), Value: new(big.Int), To: &common.Address{}}
	f.Add(made.encode(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := slices.Clone(raw)
		got, ok := signer.Sender(raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("the transaction was changed")
		}
		if len(raw) > 0 && raw[0] == 0x7e {
			var d deposit
			if err := rlp.DecodeBytes(raw[1:], &d); err == nil && (!ok || got != d.From) {
				t.Errorf("a deposit of %x: %x, %v", d.From, got, ok)
			}
			return
		}
		var tx types.Transaction
		if tx.UnmarshalBinary(raw) != nil {
			return
		}
		if tx.BlobTxSidecar() != nil {
			if ok {
				t.Errorf("%x is accepted", raw)
			}
			return
		}
		if zero := tx.Type() != types.LegacyTxType && tx.ChainId().Sign() == 0; !zero {
			compare(t, &tx)
		}
	})
}

// BenchmarkSender is what it costs, beside go-ethereum from the same bytes.
func BenchmarkSender(b *testing.B) {
	private, chain := key(b), big.NewInt(1337)
	for _, data := range transactions(chain)[1:6:6] {
		tx := types.MustSignNewTx(private, types.LatestSignerForChainID(chain), data)
		raw, err := tx.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("type%d-%d", tx.Type(), len(raw))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := signer.Sender(raw); !ok {
					b.Fatal("no sender")
				}
			}
		})
		b.Run(name+"-geth", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var tx types.Transaction
				if err := tx.UnmarshalBinary(raw); err != nil {
					b.Fatal(err)
				}
				if _, err := senderByGeth(&tx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
