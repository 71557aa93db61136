package devchain

import (
	"crypto/sha256"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/params"
)

// rollupQuietBlocks lie between the rollup's two rounds: 140 blocks in all, of which
// a window of 128 leaves out the first twelve.
const rollupQuietBlocks = 121

// step writes one block.
type step func(*writer)

// script returns the blocks of a preset: devnet has the deployment and one round of
// all transaction types, rollup a second round near its head.
func script(name string) []step {
	steps := append([]step{deployBlock}, round("")...)
	if name != "rollup" {
		return steps
	}
	for range rollupQuietBlocks {
		steps = append(steps, quietBlock)
	}
	return append(steps, round("recent ")...)
}

// round is a block or more for every transaction type. The prefix sets the names of
// one round apart from another's.
func round(prefix string) []step {
	blocks := []func(*writer, string){
		legacyBlock, failingBlock, emptyBlock, accessListBlock, dynamicFeeBlock,
		blobBlock, setCodeBlock, emptyBlock, busyBlock,
	}
	steps := make([]step, len(blocks))
	for i, block := range blocks {
		steps[i] = func(w *writer) { block(w, prefix) }
	}
	return steps
}

func deployBlock(w *writer) {
	w.add("deploy", w.legacy(nil, new(big.Int), 1_000_000, DemoCode()))
}

// quietBlock is empty, or every second time one plain transfer.
func quietBlock(w *writer) {
	if w.block.Number().Bit(0) == 0 {
		w.add("", w.dynamicFee(recipient(), big.NewInt(1), nil))
	}
}

func emptyBlock(*writer, string) {}

func legacyBlock(w *writer, prefix string) {
	demo, to := DemoAddress(), recipient()
	w.add(prefix+"legacy transfer", w.legacy(&to, ether(1), params.TxGas, nil))
	w.add(prefix+"legacy call", w.legacy(&demo, new(big.Int), callGas, w.call("setValue", big.NewInt(7))))
	// A signature without a chain id, as before EIP-155: blocks may still carry it.
	unprotected := w.legacy(&to, ether(1), params.TxGas, nil)
	w.addSigned(prefix+"legacy unprotected", types.HomesteadSigner{}, unprotected)
}

func failingBlock(w *writer, prefix string) {
	demo := DemoAddress()
	w.add(prefix+"revert with reason", w.legacy(&demo, new(big.Int), callGas, w.call("failWithReason")))
	w.add(prefix+"panic", w.dynamicFee(demo, new(big.Int), w.call("failWithPanic")))
	w.add(prefix+"out of gas", w.legacy(&demo, new(big.Int), callGas, w.call("spin")))
}

func accessListBlock(w *writer, prefix string) {
	demo := DemoAddress()
	list := types.AccessList{{Address: demo, StorageKeys: []common.Hash{{}}}}
	w.add(prefix+"access list", w.accessList(demo, w.call("setValue", big.NewInt(2930)), list))
}

func dynamicFeeBlock(w *writer, prefix string) {
	data := w.call("transfer", Accounts()[0].Address, big.NewInt(1_000))
	w.add(prefix+"dynamic fee", w.dynamicFee(DemoAddress(), new(big.Int), data))
}

func blobBlock(w *writer, prefix string) {
	w.add(prefix+"blob", w.blob(recipient(), zeroBlobHash()))
}

func setCodeBlock(w *writer, prefix string) {
	w.add(prefix+"set code", w.setCode(w.call("setValue", big.NewInt(7702))))
}

// busyBlock has several transactions and logs, and leaves 42 in the contract.
func busyBlock(w *writer, prefix string) {
	demo, to := DemoAddress(), recipient()
	for i, account := range Accounts()[1:4] {
		data := w.call("transfer", account.Address, big.NewInt(100))
		w.add(fmt.Sprintf("%sbusy transfer %d", prefix, i+1), w.dynamicFee(demo, new(big.Int), data))
	}
	w.add(prefix+"busy legacy", w.legacy(&to, ether(1), params.TxGas, nil))
	w.add(prefix+"busy custom error", w.dynamicFee(demo, new(big.Int), w.call("failWithCustomError")))
	w.add(prefix+"busy set value", w.accessList(demo, w.call("setValue", big.NewInt(42)), nil))
}

// recipient gets the plain transfers. It is nobody's, so that the ten accounts keep
// round balances.
func recipient() common.Address {
	return common.HexToAddress("0x000000000000000000000000000000000000beef")
}

// zeroBlobHash is the versioned hash of the blob of zeros. That blob's commitment is
// the point at infinity, so no trusted setup is needed to compute it.
func zeroBlobHash() common.Hash {
	commitment := kzg4844.Commitment{0xc0}
	return kzg4844.CalcBlobHashV1(sha256.New(), &commitment)
}
