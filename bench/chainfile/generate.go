package chainfile

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// The chain's measures. The senders' tokens are within the million that the
// contract gives its deployer.
const (
	blockCount   = 300
	txsPerBlock  = 60
	senderCount  = 40
	senderTokens = 20_000
	callGas      = 100_000
	deployGas    = 1_000_000
)

// sender signs transactions; the chain has many, as a real one has.
type sender struct {
	key     *ecdsa.PrivateKey
	address common.Address
}

// script writes the chain's transactions one after another.
type script struct {
	senders []sender
	token   abi.ABI
	chainID *big.Int
	block   *core.BlockGen
	written int // transfers so far; also the number of the next recipient
}

// generate builds a chain of count blocks in memory.
func generate(count int) (genesis *core.Genesis, blocks []*types.Block, err error) {
	// The chain maker reports a transaction that can't be executed by a panic.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("generate the benchmark chain: %v", r)
		}
	}()
	genesis = devchain.Devnet().Genesis()
	s := newScript(genesis.Config.ChainID)
	for _, one := range s.senders {
		genesis.Alloc[one.address] = types.Account{Balance: new(big.Int).Mul(big.NewInt(1_000), big.NewInt(params.Ether))}
	}
	_, blocks, _ = core.GenerateChainWithGenesis(genesis, beacon.New(ethash.NewFaker()), count, s.fill)
	return genesis, blocks, nil
}

func newScript(chainID *big.Int) *script {
	token, err := abi.JSON(bytes.NewReader(devchain.DemoABI()))
	if err != nil {
		panic(err)
	}
	s := &script{chainID: chainID, token: token}
	for i := range senderCount {
		key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Appendf(nil, "nodegate benchmark sender %d", i)))
		if err != nil {
			panic(err)
		}
		s.senders = append(s.senders, sender{key, crypto.PubkeyToAddress(key.PublicKey)})
	}
	return s
}

// Sender is an account that has ether and tokens at the chain's head.
func Sender() common.Address { return newScript(nil).senders[0].address }

// fill writes one block. The first also deploys the contract and hands out tokens.
func (s *script) fill(i int, b *core.BlockGen) {
	s.block = b
	left := txsPerBlock
	if i == 0 {
		left -= s.prepare()
	}
	for range left {
		s.transfer()
	}
}

// prepare returns how many transactions it took.
func (s *script) prepare() int {
	account := devchain.Deployer()
	from := sender{account.PrivateKey, account.Address}
	demo := devchain.DemoAddress()
	s.add(from, s.legacy(from, nil, nil, deployGas, devchain.DemoCode()))
	for _, to := range s.senders {
		s.add(from, s.legacy(from, &demo, nil, callGas, s.tokens(to.address, senderTokens)))
	}
	return 1 + len(s.senders)
}

// transfer adds one transaction to a new recipient: two of three move tokens, one
// of two is of the legacy type.
func (s *script) transfer() {
	n := s.written
	s.written++
	from, to := s.senders[n%len(s.senders)], recipient(n)
	var data []byte
	value := big.NewInt(int64(1 + n%1000))
	if n%3 != 2 {
		data = s.tokens(to, int64(1+n%9))
		to, value = devchain.DemoAddress(), nil
	}
	if n%2 == 0 {
		s.add(from, s.legacy(from, &to, value, callGas, data))
	} else {
		s.add(from, s.dynamicFee(from, &to, value, data))
	}
}

// recipient is an address spread over the whole trie.
func recipient(n int) common.Address {
	return common.BytesToAddress(crypto.Keccak256(fmt.Appendf(nil, "nodegate benchmark recipient %d", n)))
}

func (s *script) tokens(to common.Address, amount int64) []byte {
	data, err := s.token.Pack("transfer", to, big.NewInt(amount))
	if err != nil {
		panic(err)
	}
	return data
}

func (s *script) add(from sender, data types.TxData) {
	s.block.AddTx(types.MustSignNewTx(from.key, s.block.Signer(), data))
}

func (s *script) legacy(from sender, to *common.Address, value *big.Int, gas uint64, data []byte) *types.LegacyTx {
	return &types.LegacyTx{
		Nonce: s.block.TxNonce(from.address), GasPrice: big.NewInt(2 * params.GWei), Gas: gas, To: to, Value: value, Data: data,
	}
}

func (s *script) dynamicFee(from sender, to *common.Address, value *big.Int, data []byte) *types.DynamicFeeTx {
	return &types.DynamicFeeTx{
		ChainID: s.chainID, Nonce: s.block.TxNonce(from.address),
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(3 * params.GWei), Gas: callGas, To: to, Value: value, Data: data,
	}
}
