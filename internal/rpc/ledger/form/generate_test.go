package form_test

import (
	"crypto/ecdsa"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// The generated chain has what the others lack: uncles, withdrawals, contracts created by
// transactions of each type that can, logs with any number of topics, blob transactions
// with several blobs, set-code transactions with several authorizations.
const (
	uncleBlock  = 3
	mergeBlock  = 5
	lastBlock   = 12
	blockPeriod = 10
)

var (
	logger   = common.Address{0x10, 1} // emits logs with 0 to 4 topics
	failer   = common.Address{0x10, 2} // emits a log and fails
	receiver = common.Address{0x10, 3}
)

func generatedConfig() *params.ChainConfig {
	c := *params.AllEthashProtocolChanges
	fork := uint64(mergeBlock * blockPeriod)
	c.ChainID = big.NewInt(0x7fff_ffff_ffff) // its v has more than 32 bits
	c.TerminalTotalDifficulty = big.NewInt(1 << 40)
	c.ShanghaiTime, c.CancunTime, c.PragueTime = &fork, &fork, &fork
	c.BlobScheduleConfig = params.DefaultBlobSchedule
	return &c
}

func generated(t fataler) (*core.Genesis, []*types.Block) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("a sender of the generated chain")))
	if err != nil {
		t.Fatal(err)
	}
	rich := types.Account{Balance: new(big.Int).Lsh(big.NewInt(1), 100)}
	genesis := &core.Genesis{
		Config: generatedConfig(), GasLimit: 30_000_000, Difficulty: big.NewInt(1 << 17), BaseFee: big.NewInt(params.InitialBaseFee),
		ExtraData: []byte("form"),
		Alloc: types.GenesisAlloc{
			crypto.PubkeyToAddress(key.PublicKey): rich,
			logger:                                {Code: logCode(), Balance: new(big.Int)},
			failer:                                {Code: append(logCode(), byte(vm.INVALID)), Balance: new(big.Int)},
			params.BeaconRootsAddress:             {Code: params.BeaconRootsCode, Nonce: 1, Balance: new(big.Int)},
			params.HistoryStorageAddress:          {Code: params.HistoryStorageCode, Nonce: 1, Balance: new(big.Int)},
			params.WithdrawalQueueAddress:         {Code: params.WithdrawalQueueCode, Nonce: 1, Balance: new(big.Int)},
			params.ConsolidationQueueAddress:      {Code: params.ConsolidationQueueCode, Nonce: 1, Balance: new(big.Int)},
		},
	}
	_, blocks, _ := core.GenerateChainWithGenesis(genesis, beacon.New(ethash.NewFaker()), lastBlock, func(i int, b *core.BlockGen) {
		s := &sender{b: b, key: key, signer: types.LatestSigner(genesis.Config), id: genesis.Config.ChainID}
		s.fill(i + 1)
	})
	return genesis, blocks
}

// logCode emits logs with 0 to 4 topics, each with some data.
func logCode() (code []byte) {
	for topics := range 5 {
		for i := range topics {
			code = append(append(code, byte(vm.PUSH32)), crypto.Keccak256([]byte{byte(topics), byte(i)})...)
		}
		code = append(code, byte(vm.PUSH1), byte(40*topics), byte(vm.PUSH0), byte(vm.LOG0)+byte(topics))
	}
	return code
}

// sender sends the transactions of one block.
type sender struct {
	b      *core.BlockGen
	key    *ecdsa.PrivateKey
	signer types.Signer
	id     *big.Int
}

func (s *sender) fill(number int) {
	s.b.SetExtra([]byte{byte(number)})
	s.b.SetCoinbase(common.Address{0xc0, byte(number)})
	if number == uncleBlock {
		parent := s.b.PrevBlock(number - 2)
		s.b.AddUncle(&types.Header{ParentHash: parent.ParentHash(), Number: parent.Number(), Extra: []byte("uncle")})
		s.b.AddUncle(&types.Header{ParentHash: parent.ParentHash(), Number: parent.Number(), Extra: []byte("another uncle")})
	}
	if number >= mergeBlock {
		s.b.SetPoS()
		s.b.SetParentBeaconRoot(common.Hash{byte(number)})
		for i := range number - mergeBlock {
			s.b.AddWithdrawal(&types.Withdrawal{Validator: uint64(i) << 40, Address: receiver, Amount: uint64(i)})
		}
	}
	s.common(byte(number))
	if number >= mergeBlock {
		s.modern(byte(number))
	}
}

// common sends the types that there were before the merge.
func (s *sender) common(seed byte) {
	fee := s.fee()
	deploy := append([]byte{byte(vm.PUSH0), byte(vm.PUSH0), byte(vm.LOG0), byte(vm.STOP)}, seed)
	list := types.AccessList{
		{Address: logger, StorageKeys: []common.Hash{{1}, {31: seed}}},
		{Address: receiver, StorageKeys: []common.Hash{}},
	}
	for _, to := range []*common.Address{nil, &logger, &failer, &receiver} {
		s.send(s.signer, &types.LegacyTx{Nonce: s.nonce(), GasPrice: fee, Gas: 200_000, To: to, Value: s.value(to), Data: deploy})
		s.send(types.HomesteadSigner{}, &types.LegacyTx{Nonce: s.nonce(), GasPrice: fee, Gas: 200_000, To: to, Value: s.value(to)})
		s.send(s.signer, &types.AccessListTx{ChainID: s.id, Nonce: s.nonce(), GasPrice: fee, Gas: 200_000, To: to, Value: s.value(to), Data: deploy, AccessList: list})
		s.send(s.signer, &types.DynamicFeeTx{ChainID: s.id, Nonce: s.nonce(), GasTipCap: big.NewInt(7), GasFeeCap: fee, Gas: 200_000, To: to, Value: s.value(to), Data: deploy})
		// The tip reaches the cap.
		s.send(s.signer, &types.DynamicFeeTx{ChainID: s.id, Nonce: s.nonce(), GasTipCap: fee, GasFeeCap: fee, Gas: 200_000, To: to, Value: s.value(to), AccessList: list})
	}
}

// modern sends the types that came later.
func (s *sender) modern(seed byte) {
	fee, id := uint256.MustFromBig(s.fee()), uint256.MustFromBig(s.id)
	var blobs []common.Hash
	for i := range seed%3 + 1 {
		blobs = append(blobs, common.Hash{0: 1, 30: seed, 31: i})
	}
	s.send(s.signer, &types.BlobTx{
		ChainID: id, Nonce: s.nonce(), GasTipCap: uint256.NewInt(3), GasFeeCap: fee, Gas: 200_000, To: logger, Value: new(uint256.Int),
		Data: []byte{seed}, BlobFeeCap: uint256.NewInt(1e9), BlobHashes: blobs, AccessList: types.AccessList{{Address: logger}},
	})
	for _, to := range []common.Address{logger, failer} {
		s.send(s.signer, &types.SetCodeTx{
			ChainID: id, Nonce: s.nonce(), GasTipCap: fee, GasFeeCap: fee, Gas: 400_000, To: to, Value: new(uint256.Int),
			AuthList: []types.SetCodeAuthorization{s.authorization(seed, id, 0), s.authorization(seed, new(uint256.Int), 1)},
		})
	}
}

func (s *sender) authorization(seed byte, id *uint256.Int, nonce uint64) types.SetCodeAuthorization {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte{seed}))
	if err != nil {
		panic(err)
	}
	a, err := types.SignSetCode(key, types.SetCodeAuthorization{ChainID: *id, Address: logger, Nonce: nonce})
	if err != nil {
		panic(err)
	}
	return a
}

func (s *sender) nonce() uint64 { return s.b.TxNonce(crypto.PubkeyToAddress(s.key.PublicKey)) }

func (s *sender) fee() *big.Int { return new(big.Int).Add(s.b.BaseFee(), big.NewInt(1000)) }

// value is sent to an account that takes it.
func (s *sender) value(to *common.Address) *big.Int {
	if to != nil && *to == receiver {
		return big.NewInt(1e18)
	}
	return new(big.Int)
}

func (s *sender) send(signer types.Signer, data types.TxData) {
	s.b.AddTx(types.MustSignNewTx(s.key, signer, data))
}
