package main

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/bench/chainfile"
	"github.com/nodegate/nodegate/bench/load"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// workload is one row of the table: a method and many requests of it.
type workload struct {
	name   string
	method string
	bodies []load.Body
	goal   goal
}

// goal is how many times better than Geth nodegate is to be; 0 where there is none.
type goal struct {
	Rate float64 `json:"rate"` // requests a second
	CPU  float64 `json:"cpu"`  // processor time a request
}

// source is what the requests ask about.
type source struct {
	blocks  []*types.Block
	holders []holder
	random  *rand.Rand
}

// holder is an account that has tokens since a block.
type holder struct {
	address common.Address
	since   uint64
}

// workloads asks about everything in the chain, in a random order that is the same
// in each run. Calls and estimates differ in every request, so that no answer can be
// remembered, except where the name says so.
func workloads(blocks []*types.Block) []workload {
	s := &source{blocks: blocks, holders: holders(blocks), random: rand.New(rand.NewPCG(1, 2))}
	return []workload{
		s.row("eth_getStorageAt", "latest", goal{4, 6}, s.storageLatest()),
		s.row("eth_getStorageAt", "historic", goal{4, 6}, s.storageHistoric()),
		s.row("eth_getProof", "", goal{4, 6}, s.proofs()),
		s.row("eth_getTransactionByHash", "", goal{5, 8}, s.txHashes()),
		s.row("eth_getTransactionByBlockHashAndIndex", "", goal{5, 8}, s.txPlaces()),
		s.row("eth_getTransactionReceipt", "", goal{8, 12}, s.txHashes()),
		s.row("eth_getBlockReceipts", "", goal{30, 45}, s.blockNumbers()),
		s.row("eth_call", "balanceOf", goal{3, 4.5}, s.balanceCalls()),
		s.row("eth_call", "loop cold", goal{1.5, 2}, []string{loopCall(load.Unique)}),
		s.row("eth_call", "loop repeated", goal{3, 0}, []string{loopCall("0000000000000001")}),
		s.row("eth_estimateGas", "", goal{2, 3}, s.estimates()),
		s.row("eth_blockNumber", "", goal{}, []string{`[]`}),
	}
}

// chosen keeps the workloads whose name matches.
func chosen(all []workload, only *regexp.Regexp) []workload {
	var list []workload
	for _, w := range all {
		if only.MatchString(w.name) {
			list = append(list, w)
		}
	}
	return list
}

// row shuffles the parameters and wraps each in an envelope.
func (s *source) row(method, variant string, g goal, params []string) workload {
	w := workload{name: method, method: method, goal: g}
	if variant != "" {
		w.name += " " + variant
	}
	s.random.Shuffle(len(params), func(i, k int) { params[i], params[k] = params[k], params[i] })
	for _, p := range params {
		w.bodies = append(w.bodies, load.NewBody(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, p)))
	}
	return w
}

func countTxs(blocks []*types.Block) (n int) {
	for _, b := range blocks {
		n += len(b.Transactions())
	}
	return n
}

// transferSelector begins a call of transfer(address,uint256).
var transferSelector = crypto.Keccak256([]byte("transfer(address,uint256)"))[:4]

// holders are the recipients of the chain's token transfers.
func holders(blocks []*types.Block) (list []holder) {
	for _, b := range blocks {
		for _, tx := range b.Transactions() {
			data := tx.Data()
			if len(data) == 68 && string(data[:4]) == string(transferSelector) {
				list = append(list, holder{common.BytesToAddress(data[4:36]), b.NumberU64()})
			}
		}
	}
	return list
}

// slot is where the contract keeps the holder's balance.
func (h holder) slot() common.Hash {
	position := common.BigToHash(big.NewInt(devchain.DemoBalancesSlot))
	return crypto.Keccak256Hash(common.LeftPadBytes(h.address[:], 32), position[:])
}

func (s *source) storageLatest() (params []string) {
	for _, h := range s.holders {
		params = append(params, fmt.Sprintf(`["%#x","%#x","latest"]`, devchain.DemoAddress(), h.slot()))
	}
	return params
}

// storageHistoric reads each slot at some block after it was first written.
func (s *source) storageHistoric() (params []string) {
	for _, h := range s.holders {
		at := h.since + s.random.Uint64N(uint64(len(s.blocks))-h.since+1)
		params = append(params, fmt.Sprintf(`["%#x","%#x","%#x"]`, devchain.DemoAddress(), h.slot(), at))
	}
	return params
}

func (s *source) proofs() (params []string) {
	for _, h := range s.holders {
		params = append(params, fmt.Sprintf(`["%#x",["%#x"],"latest"]`, devchain.DemoAddress(), h.slot()))
	}
	return params
}

func (s *source) txHashes() (params []string) {
	for _, b := range s.blocks {
		for _, tx := range b.Transactions() {
			params = append(params, fmt.Sprintf(`["%#x"]`, tx.Hash()))
		}
	}
	return params
}

func (s *source) txPlaces() (params []string) {
	for _, b := range s.blocks {
		for i := range b.Transactions() {
			params = append(params, fmt.Sprintf(`["%#x","%#x"]`, b.Hash(), i))
		}
	}
	return params
}

func (s *source) blockNumbers() (params []string) {
	for _, b := range s.blocks {
		params = append(params, fmt.Sprintf(`["%#x"]`, b.NumberU64()))
	}
	return params
}

// balanceCalls have a different number behind their arguments each time. The
// contract doesn't read it, but no memory of exact calls can know the answer.
func (s *source) balanceCalls() (params []string) {
	selector := crypto.Keccak256([]byte("balanceOf(address)"))[:4]
	for _, h := range s.holders {
		params = append(params, call(caller(), fmt.Sprintf("%#x%x%s", selector, common.LeftPadBytes(h.address[:], 32), load.Unique)))
	}
	return params
}

// loopCall runs a thousand rounds of the interpreter.
func loopCall(number string) string {
	selector := crypto.Keccak256([]byte("loop(uint256)"))[:4]
	return call(caller(), fmt.Sprintf("%#x%064x%s", selector, 1000, number))
}

// estimates are transfers to a different new holder each time, by one who has tokens.
func (s *source) estimates() []string {
	data := fmt.Sprintf("%#x%024x%s%064x", transferSelector, 0, anybody(load.Unique)[2:], 1)
	return []string{call(caller(), data)}
}

// caller has money and tokens.
func caller() string { return fmt.Sprintf("%#x", chainfile.Sender()) }

// anybody is an address that ends with 16 digits.
func anybody(digits string) string { return "0xb0b0b0b0b0b0b0b0b0b0b0b0" + digits }

func call(from, data string) string {
	return fmt.Sprintf(`[{"from":%q,"to":"%#x","data":%q},"latest"]`, from, devchain.DemoAddress(), data)
}
