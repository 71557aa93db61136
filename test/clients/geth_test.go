package clients_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/gethclient"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/version"
	"github.com/google/go-cmp/cmp"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

const gethTime = 2 * time.Minute

// gethClient is a connection to one network and what is known of it.
type gethClient struct {
	*ethclient.Client
	ctx     context.Context
	facts   *facts
	demo    abi.ABI
	account devchain.Account
	socket  bool
}

// TestGoEthereum uses go-ethereum's client on each network over each transport.
func TestGoEthereum(t *testing.T) {
	svc := startService(t)
	for _, name := range []string{"devnet", "rollup"} {
		for _, address := range []string{svc.http(name, key), svc.ws(name, key)} {
			scheme, _, _ := strings.Cut(address, ":")
			t.Run(name+" "+scheme, func(t *testing.T) {
				c := dialGeth(t, address, svc.facts[name])
				for _, part := range gethParts(c) {
					t.Run(part.name, part.run)
				}
			})
		}
	}
	t.Run("closed doors", func(t *testing.T) { checkClosedDoors(t, svc) })
	if !t.Failed() {
		compatRow(t, "programs", "go-ethereum's client", fmt.Sprintf("%d.%d.%d", version.Major, version.Minor, version.Patch), "`test/clients/geth_test.go`, HTTP and WebSocket, both built-in networks", "ok")
	}
}

type gethPart struct {
	name string
	run  func(*testing.T)
}

func gethParts(c *gethClient) []gethPart {
	parts := []gethPart{
		{"blocks", c.checkBlocks},
		{"transactions", c.checkTransactions},
		{"receipts", c.checkReceipts},
		{"storage", c.checkStorage},
		{"proof", c.checkProof},
		{"calls", c.checkCalls},
		{"reverts", c.checkReverts},
		{"logs", c.checkLogs},
		{"send", c.checkSend},
		{"send and wait", c.checkSendSync},
		{"blob", c.checkBlob},
		{"batch", c.checkBatch},
		{"errors", c.checkErrors},
	}
	if c.socket {
		parts = append(parts, gethPart{"subscriptions", c.checkSubscriptions})
	}
	if c.facts.Name == "rollup" {
		parts = append(parts, gethPart{"layer 2", c.checkLayer2})
	}
	return parts
}

func dialGeth(t *testing.T, address string, f *facts) *gethClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gethTime)
	t.Cleanup(cancel)
	client, err := ethclient.DialContext(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	demo, err := abi.JSON(bytes.NewReader(devchain.DemoABI()))
	if err != nil {
		t.Fatal(err)
	}
	return &gethClient{
		Client: client, ctx: ctx, facts: f, demo: demo,
		account: devchain.Accounts()[gethAccount], socket: strings.HasPrefix(address, "ws"),
	}
}

func (c *gethClient) head() *big.Int { return new(big.Int).SetUint64(c.facts.Head) }

// checkBlocks relies on the client, which recomputes the roots of what it reads.
func (c *gethClient) checkBlocks(t *testing.T) {
	id, err := c.ChainID(c.ctx)
	if err != nil || id.Uint64() != c.facts.ChainID {
		t.Errorf("chain id %v, want %d (%v)", id, c.facts.ChainID, err)
	}
	number, err := c.BlockNumber(c.ctx)
	if err != nil || number < c.facts.Head {
		t.Errorf("block number %d, want %d or more (%v)", number, c.facts.Head, err)
	}
	block, err := c.BlockByNumber(c.ctx, c.head())
	if err != nil {
		t.Fatal(err)
	}
	if block.Hash() != c.facts.HeadHash {
		t.Errorf("block %d has hash %s, want %s", c.facts.Head, block.Hash(), c.facts.HeadHash)
	}
	for _, tag := range []rpc.BlockNumber{rpc.SafeBlockNumber, rpc.FinalizedBlockNumber, rpc.LatestBlockNumber, rpc.PendingBlockNumber} {
		if _, err := c.HeaderByNumber(c.ctx, big.NewInt(tag.Int64())); err != nil {
			t.Errorf("block %s: %v", tag, err)
		}
	}
	if _, err := c.BlockByNumber(c.ctx, big.NewInt(99_999_999)); !errors.Is(err, ethereum.NotFound) {
		t.Errorf("a block of the future: %v, want %v", err, ethereum.NotFound)
	}
}

// checkTransactions compares hashes, which the client computes from all other fields.
func (c *gethClient) checkTransactions(t *testing.T) {
	for _, want := range c.facts.Transactions {
		tx, pending, err := c.TransactionByHash(c.ctx, want.Hash)
		if err != nil {
			t.Errorf("%s: %v", want.Name, err)
			continue
		}
		if tx.Hash() != want.Hash || tx.Type() != want.Type || pending {
			t.Errorf("%s: hash %s, type %d, pending %v", want.Name, tx.Hash(), tx.Type(), pending)
		}
		twin, err := c.TransactionInBlock(c.ctx, want.BlockHash, want.Index)
		if err != nil || twin.Hash() != want.Hash {
			t.Errorf("%s by block and index: %v (%v)", want.Name, twin, err)
		}
	}
	if _, _, err := c.TransactionByHash(c.ctx, common.Hash{1}); !errors.Is(err, ethereum.NotFound) {
		t.Errorf("an unknown transaction: %v, want %v", err, ethereum.NotFound)
	}
}

func (c *gethClient) checkReceipts(t *testing.T) {
	for _, want := range c.facts.Transactions {
		if c.outsideWindow(want) {
			continue
		}
		r, err := c.TransactionReceipt(c.ctx, want.Hash)
		if err != nil {
			t.Errorf("%s: %v", want.Name, err)
			continue
		}
		got := txFact{want.Name, r.Type, r.TxHash, r.BlockNumber.Uint64(), r.BlockHash, r.TransactionIndex, r.Status, r.GasUsed, len(r.Logs)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	receipts, err := c.BlockReceipts(c.ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(c.facts.Head)))
	if err != nil {
		t.Fatal(err)
	}
	header, err := c.HeaderByHash(c.ctx, c.facts.HeadHash)
	if err != nil {
		t.Fatal(err)
	}
	// The root covers status, gas, bloom and logs of every receipt.
	if root := types.DeriveSha(types.Receipts(receipts), trie.NewStackTrie(nil)); root != header.ReceiptHash {
		t.Errorf("the receipts of block %d have root %s, want %s", c.facts.Head, root, header.ReceiptHash)
	}
}

// outsideWindow tells which receipts the rollup does not serve any more.
func (c *gethClient) outsideWindow(tx txFact) bool {
	return c.facts.Name == "rollup" && tx.Block < 130
}

func (c *gethClient) checkStorage(t *testing.T) {
	owner := common.LeftPadBytes(c.facts.Balance.Owner[:], 32)
	position := crypto.Keccak256Hash(owner, common.LeftPadBytes([]byte{devchain.DemoBalancesSlot}, 32))
	for slot, want := range map[common.Hash]common.Hash{{}: c.facts.Value.Word, position: c.facts.Balance.Word} {
		got, err := c.StorageAt(c.ctx, c.facts.Demo, slot, c.head())
		if err != nil || common.BytesToHash(got) != want {
			t.Errorf("slot %s: %x, want %s (%v)", slot, got, want, err)
		}
	}
}

// checkProof walks the proofs of the account and of its storage from the state root.
func (c *gethClient) checkProof(t *testing.T) {
	header, err := c.HeaderByNumber(c.ctx, c.head())
	if err != nil {
		t.Fatal(err)
	}
	geth := gethclient.New(c.Client.Client())
	keys := []string{common.Hash{}.Hex(), c.facts.Balance.Position}
	proof, err := geth.GetProof(c.ctx, c.facts.Demo, keys, c.head())
	if err != nil {
		t.Fatal(err)
	}
	account := types.StateAccount{
		Nonce: proof.Nonce, Balance: uint256.MustFromBig(proof.Balance), Root: proof.StorageHash, CodeHash: proof.CodeHash[:],
	}
	want, _ := rlp.EncodeToBytes(&account)
	if got := proven(t, header.Root, c.facts.Demo[:], proof.AccountProof); !bytes.Equal(got, want) {
		t.Errorf("the proof says %x, the answer %x", got, want)
	}
	for i, word := range []common.Hash{c.facts.Value.Word, c.facts.Balance.Word} {
		want, _ := rlp.EncodeToBytes(word.Big())
		key := common.HexToHash(keys[i])
		if got := proven(t, proof.StorageHash, key[:], proof.StorageProof[i].Proof); !bytes.Equal(got, want) {
			t.Errorf("slot %s: the proof says %x, want %x", key, got, want)
		}
	}
}

// proven returns the value that a Merkle proof shows for a key.
func proven(t *testing.T, root common.Hash, key []byte, nodes []string) []byte {
	t.Helper()
	db := memorydb.New()
	for _, node := range nodes {
		data := hexutil.MustDecode(node)
		if err := db.Put(crypto.Keccak256(data), data); err != nil {
			t.Fatal(err)
		}
	}
	value, err := trie.VerifyProof(root, crypto.Keccak256(key), db)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// pack encodes a call of the demo contract.
func (c *gethClient) pack(t *testing.T, method string, args ...any) ethereum.CallMsg {
	t.Helper()
	data, err := c.demo.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	return ethereum.CallMsg{From: c.account.Address, To: &c.facts.Demo, Data: data}
}

func (c *gethClient) checkCalls(t *testing.T) {
	answer, err := c.CallContract(c.ctx, c.pack(t, "value"), c.head())
	if err != nil || common.BytesToHash(answer) != c.facts.Value.Word {
		t.Errorf("value(): %x, want %s (%v)", answer, c.facts.Value.Word, err)
	}
	answer, err = c.CallContractAtHash(c.ctx, c.pack(t, "balanceOf", c.facts.Balance.Owner), c.facts.HeadHash)
	if err != nil || common.BytesToHash(answer) != c.facts.Balance.Word {
		t.Errorf("balanceOf(): %x, want %s (%v)", answer, c.facts.Balance.Word, err)
	}
	gas, err := c.EstimateGas(c.ctx, c.pack(t, "setValue", big.NewInt(5)))
	if err != nil || gas < 21_000 || gas > 60_000 {
		t.Errorf("setValue costs %d (%v)", gas, err)
	}
	slot := map[common.Hash]common.Hash{{}: common.BigToHash(big.NewInt(99))}
	overrides := map[common.Address]gethclient.OverrideAccount{c.facts.Demo: {StateDiff: slot}}
	answer, err = gethclient.New(c.Client.Client()).CallContract(c.ctx, c.pack(t, "value"), nil, &overrides)
	if err != nil || new(big.Int).SetBytes(answer).Int64() != 99 {
		t.Errorf("value() with an override: %x, want 99 (%v)", answer, err)
	}
}

// checkReverts reads the reasons out of what calls and estimates fail with.
func (c *gethClient) checkReverts(t *testing.T) {
	for _, want := range []struct{ method, message, data string }{
		{"failWithReason", "execution reverted: demo: always fails", ""},
		{"failWithCustomError", "execution reverted", hex.EncodeToString(c.customError(t, 1, 2))},
		{"failWithPanic", "execution reverted: assert(false)", ""},
	} {
		_, called := c.CallContract(c.ctx, c.pack(t, want.method), nil)
		_, estimated := c.EstimateGas(c.ctx, c.pack(t, want.method))
		for _, err := range []error{called, estimated} {
			var coded rpc.Error
			if !errors.As(err, &coded) || coded.ErrorCode() != 3 || err.Error() != want.message {
				t.Errorf("%s: %v, want code 3, %q", want.method, err, want.message)
			}
			data, ok := ethclient.RevertErrorData(err)
			if !ok || want.data != "" && hex.EncodeToString(data) != want.data {
				t.Errorf("%s: data %x, want %s", want.method, data, want.data)
			}
			if reason, err := abi.UnpackRevert(data); want.data == "" && (err != nil || !strings.HasSuffix(want.message, reason)) {
				t.Errorf("%s: reason %q (%v)", want.method, reason, err)
			}
		}
	}
}

func (c *gethClient) customError(t *testing.T, args ...int64) []byte {
	t.Helper()
	e := c.demo.Errors["InsufficientDemo"]
	data, err := e.Inputs.Pack(big.NewInt(args[0]), big.NewInt(args[1]))
	if err != nil {
		t.Fatal(err)
	}
	return append(e.ID[:4:4], data...)
}

func (c *gethClient) checkLogs(t *testing.T) {
	changed := c.demo.Events["ValueChanged"].ID
	logs, err := c.FilterLogs(c.ctx, ethereum.FilterQuery{
		ToBlock: big.NewInt(10), Addresses: []common.Address{c.facts.Demo}, Topics: [][]common.Hash{{changed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var values []int64
	for _, log := range logs {
		values = append(values, new(big.Int).SetBytes(log.Data).Int64())
	}
	if diff := cmp.Diff([]int64{7, 2930, 42}, values); diff != "" {
		t.Errorf("values in the logs (-want +got):\n%s", diff)
	}
}
