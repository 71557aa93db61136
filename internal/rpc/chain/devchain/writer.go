package devchain

import (
	"bytes"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// callGas is enough for every call of the script.
const callGas = 100_000

// writer puts signed transactions into the block being made. Its methods panic, as
// those of the chain maker do; Generate turns that into an error.
type writer struct {
	block       *core.BlockGen
	chainID     *big.Int
	fees        fees
	demo        abi.ABI
	deployer    Account
	delegator   Account
	delegations uint64 // also the delegator's nonce: it does nothing else
	labels      []label
}

func newWriter(chainID *big.Int, f fees) *writer {
	demo, err := abi.JSON(bytes.NewReader(DemoABI()))
	if err != nil {
		panic(err)
	}
	return &writer{chainID: chainID, fees: f, demo: demo, deployer: Deployer(), delegator: Delegator()}
}

// call encodes a call of the demo contract.
func (w *writer) call(method string, args ...any) []byte {
	data, err := w.demo.Pack(method, args...)
	if err != nil {
		panic(err)
	}
	return data
}

func (w *writer) nonce() uint64 { return w.block.TxNonce(w.deployer.Address) }

// add signs with the block's own signer and includes the transaction. An empty name
// leaves it out of the table of facts.
func (w *writer) add(name string, data types.TxData) {
	w.addSigned(name, w.block.Signer(), data)
}

func (w *writer) addSigned(name string, signer types.Signer, data types.TxData) {
	tx := types.MustSignNewTx(w.deployer.PrivateKey, signer, data)
	w.block.AddTx(tx)
	if name != "" {
		w.labels = append(w.labels, label{name, tx.Hash()})
	}
}

func (w *writer) legacy(to *common.Address, value *big.Int, gas uint64, data []byte) *types.LegacyTx {
	return &types.LegacyTx{
		Nonce:    w.nonce(),
		GasPrice: big.NewInt(w.fees.price),
		Gas:      gas,
		To:       to,
		Value:    value,
		Data:     data,
	}
}

func (w *writer) accessList(to common.Address, data []byte, list types.AccessList) *types.AccessListTx {
	return &types.AccessListTx{
		ChainID:    w.chainID,
		Nonce:      w.nonce(),
		GasPrice:   big.NewInt(w.fees.price),
		Gas:        callGas,
		To:         &to,
		Data:       data,
		AccessList: list,
	}
}

func (w *writer) dynamicFee(to common.Address, value *big.Int, data []byte) *types.DynamicFeeTx {
	return &types.DynamicFeeTx{
		ChainID:   w.chainID,
		Nonce:     w.nonce(),
		GasTipCap: big.NewInt(w.fees.tip),
		GasFeeCap: big.NewInt(w.fees.limit),
		Gas:       callGas,
		To:        &to,
		Value:     value,
		Data:      data,
	}
}

// blob carries no sidecar: blobs travel beside blocks, never inside.
func (w *writer) blob(to common.Address, hashes ...common.Hash) *types.BlobTx {
	return &types.BlobTx{
		ChainID:    uint256.MustFromBig(w.chainID),
		Nonce:      w.nonce(),
		GasTipCap:  uint256.NewInt(uint64(w.fees.tip)),
		GasFeeCap:  uint256.NewInt(uint64(w.fees.limit)),
		Gas:        callGas,
		To:         to,
		Value:      uint256.NewInt(1),
		BlobFeeCap: uint256.NewInt(1_000),
		BlobHashes: hashes,
	}
}

// setCode makes the delegator delegate to the demo contract, and calls it there.
func (w *writer) setCode(data []byte) *types.SetCodeTx {
	auth, err := types.SignSetCode(w.delegator.PrivateKey, types.SetCodeAuthorization{
		ChainID: *uint256.MustFromBig(w.chainID),
		Address: DemoAddress(),
		Nonce:   w.delegations,
	})
	if err != nil {
		panic(err)
	}
	w.delegations++
	return &types.SetCodeTx{
		ChainID:   uint256.MustFromBig(w.chainID),
		Nonce:     w.nonce(),
		GasTipCap: uint256.NewInt(uint64(w.fees.tip)),
		GasFeeCap: uint256.NewInt(uint64(w.fees.limit)),
		Gas:       callGas,
		To:        w.delegator.Address,
		Value:     new(uint256.Int),
		Data:      data,
		AuthList:  []types.SetCodeAuthorization{auth},
	}
}
