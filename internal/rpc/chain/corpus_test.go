package chain

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// request is one call with canonical parameters, as the layer above writes them.
type request struct{ method, params string }

func (r request) String() string { return r.method + " " + r.params }

// raw is the parameters as a Node takes them: nil for none.
func (r request) raw() []byte {
	if r.params == "" {
		return nil
	}
	return []byte(r.params)
}

// pools are the values that the corpus and the fuzz target combine. They are read
// from the chain itself, so any chain has a corpus.
type pools struct {
	blocks    []*types.Block
	txs       []common.Hash
	addresses []common.Address
	contracts []common.Address
	slots     []string // canonical storage keys
	refs      []string // block parameters for state
	inputs    []string // call data
}

// newPools reads the chain. Deployed contracts come first among the addresses.
func newPools(n *Node) *pools {
	p := &pools{}
	bc := n.engine.eth.BlockChain()
	for i := uint64(0); i <= bc.CurrentBlock().Number.Uint64(); i++ {
		p.blocks = append(p.blocks, bc.GetBlockByNumber(i))
	}
	p.collect(bc)
	p.slots = slotPool()
	p.refs = refPool(p.blocks)
	p.inputs = append(demoInputs(), p.inputs...)
	return p
}

// collect gathers transactions, addresses and call data of the whole chain.
func (p *pools) collect(bc *core.BlockChain) {
	seen := map[common.Address]bool{}
	add := func(list *[]common.Address, a common.Address) {
		if !seen[a] {
			seen[a] = true
			*list = append(*list, a)
		}
	}
	data := map[string]bool{}
	for _, b := range p.blocks {
		for i, r := range bc.GetReceiptsByHash(b.Hash()) {
			tx := b.Transactions()[i]
			p.txs = append(p.txs, tx.Hash())
			if r.ContractAddress != (common.Address{}) {
				add(&p.contracts, r.ContractAddress)
			}
			for _, l := range r.Logs {
				add(&p.contracts, l.Address)
			}
			if to := tx.To(); to != nil {
				add(&p.addresses, *to)
			}
			if text := hexutil.Encode(tx.Data()); len(text) <= 2048 && !data[text] {
				data[text] = true
				p.inputs = append(p.inputs, text)
			}
		}
	}
	for _, a := range fixedAddresses() {
		add(&p.addresses, a)
	}
	p.addresses = append(append([]common.Address{}, p.contracts...), p.addresses...)
}

// fixedAddresses are of every kind: funded, delegated, system contracts,
// precompiles, absent.
func fixedAddresses() []common.Address {
	list := []common.Address{
		devchain.Accounts()[0].Address, devchain.Accounts()[3].Address, devchain.Deployer().Address, devchain.Delegator().Address,
		params.HistoryStorageAddress, params.BeaconRootsAddress, params.WithdrawalQueueAddress, params.DeterministicFactoryAddress,
		{}, common.HexToAddress("0xdead00000000000000000000000000000000dead"),
	}
	for i := byte(1); i <= 10; i++ {
		list = append(list, common.BytesToAddress([]byte{i}))
	}
	return append(list, common.HexToAddress("0x100"))
}

// slotPool has short keys, which are echoed as quantities, and full ones.
func slotPool() []string {
	slots := []string{"0x0", "0x1", "0x2", "0xff", "0x1fff", "0xffffffffffffffff"}
	for _, v := range []int64{0, 1, 3, 1 << 40} {
		slots = append(slots, common.BigToHash(big.NewInt(v)).Hex())
	}
	for _, owner := range []common.Address{devchain.Accounts()[0].Address, devchain.Accounts()[3].Address, devchain.Deployer().Address} {
		position := common.BigToHash(big.NewInt(devchain.DemoBalancesSlot))
		slots = append(slots, crypto.Keccak256Hash(common.LeftPadBytes(owner[:], 32), position[:]).Hex())
	}
	return append(slots, "0x"+strings.Repeat("ff", 32))
}

// refPool names blocks in every canonical way: tags, numbers, hashes, and objects
// and blocks that are not there.
func refPool(blocks []*types.Block) []string {
	refs := []string{"latest", "earliest", "safe", "finalized"}
	for _, b := range sample(blocks, 12) {
		refs = append(refs, hexutil.EncodeUint64(b.NumberU64()), b.Hash().Hex())
	}
	for i := range refs {
		refs[i] = `"` + refs[i] + `"`
	}
	last := blocks[len(blocks)-1]
	return append(refs,
		fmt.Sprintf(`"%#x"`, last.NumberU64()+1), `"0x7fffffffffffffff"`, `"0x`+strings.Repeat("ab", 32)+`"`,
		`{"blockHash":"`+last.Hash().Hex()+`","requireCanonical":true}`, `{"blockNumber":"0x1"}`)
}

// sample takes about n elements: the first ones, the last ones and some between.
func sample[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, list[i*(len(list)-1)/(n-1)])
	}
	return out
}

// demoInputs calls every function of the demo contract, and some that are not there.
func demoInputs() []string {
	owner := devchain.Accounts()[0].Address
	list := [][]byte{
		packDemo("value"), packDemo("balanceOf", owner), packDemo("balances", owner),
		packDemo("setValue", big.NewInt(9)), packDemo("setValue", new(big.Int)),
		packDemo("transfer", owner, big.NewInt(1)), packDemo("transfer", owner, new(big.Int)),
		packDemo("loop", big.NewInt(0)), packDemo("loop", big.NewInt(700)),
		packDemo("failWithReason"), packDemo("failWithCustomError"), packDemo("failWithPanic"), packDemo("spin"),
		{}, {0xde, 0xad, 0xbe, 0xef}, make([]byte, 200),
	}
	out := make([]string, len(list))
	for i, data := range list {
		out[i] = hexutil.Encode(data)
	}
	return out
}

// lookups asks for everything that was ever mined, in every way there is.
func (p *pools) lookups() (list []request) {
	for _, h := range append(p.txs, common.Hash{}, common.HexToHash("0x1234")) {
		list = append(list,
			request{"eth_getTransactionByHash", fmt.Sprintf(`["%s"]`, h)},
			request{"eth_getTransactionReceipt", fmt.Sprintf(`["%s"]`, h)})
	}
	for _, b := range p.blocks {
		list = append(list,
			request{"eth_getBlockReceipts", fmt.Sprintf(`["%#x"]`, b.NumberU64())},
			request{"eth_getBlockReceipts", fmt.Sprintf(`["%s"]`, b.Hash())})
		for i := range len(b.Transactions()) + 2 {
			list = append(list, byIndex(b.Hash(), fmt.Sprintf("%#x", i)))
		}
		list = append(list, byIndex(b.Hash(), "0xffffffff"), byIndex(b.Hash(), "0xffffffffffffffff"))
	}
	for _, ref := range append(p.refs, `"pending"`) {
		list = append(list, request{"eth_getBlockReceipts", "[" + ref + "]"})
	}
	return append(list, byIndex(common.HexToHash("0x99"), "0x0"), request{"eth_blockNumber", "[]"}, request{"eth_chainId", "[]"}, request{"eth_chainId", ""})
}

func byIndex(hash common.Hash, index string) request {
	return request{"eth_getTransactionByBlockHashAndIndex", fmt.Sprintf(`["%s","%s"]`, hash, index)}
}

// storage asks for slots of every address at every kind of block.
func (p *pools) storage() (list []request) {
	for _, a := range p.addresses {
		for i, slot := range p.slots {
			for j, ref := range p.refs {
				if (i+j)%3 == 0 || ref == `"latest"` { // every slot and every block, not every pair
					list = append(list, request{"eth_getStorageAt", fmt.Sprintf(`["%s","%s",%s]`, lower(a), slot, ref)})
				}
			}
		}
	}
	return list
}

// proofs asks for accounts with no keys, one key, all keys, and very many.
func (p *pools) proofs() (list []request) {
	all, _ := json.Marshal(p.slots)
	for _, a := range p.addresses {
		for i, ref := range p.refs {
			for _, keys := range []string{"[]", `["` + p.slots[i%len(p.slots)] + `"]`, string(all)} {
				list = append(list, proof(a, keys, ref))
			}
		}
	}
	for _, n := range []int{100, 1024, 1025} {
		list = append(list, proof(p.addresses[0], manyKeys(n), `"latest"`))
	}
	return list
}

func proof(a common.Address, keys, ref string) request {
	return request{"eth_getProof", fmt.Sprintf(`["%s",%s,%s]`, lower(a), keys, ref)}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%#x", i)
	}
	out, _ := json.Marshal(keys)
	return string(out)
}

// callShape is a call object in its parts; an empty one is left out.
type callShape struct{ from, to, gas, value, input string }

func (c callShape) String() string {
	var b strings.Builder
	for _, f := range [][2]string{{"from", c.from}, {"to", c.to}, {"gas", c.gas}, {"value", c.value}, {"input", c.input}} {
		if f[1] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":"%s"`, f[0], f[1])
	}
	return "{" + b.String() + "}"
}

// both asks for the result and for the gas of a call. The layer above gives every
// eth_call its gas, so one without is no plain shape.
func (c callShape) both(ref string) []request {
	return []request{
		{"eth_call", fmt.Sprintf("[%s,%s]", c, ref)},
		{"eth_estimateGas", fmt.Sprintf("[%s,%s]", c, ref)},
	}
}

// spins tells the input that ends at the gas limit: it is asked for sparingly.
var spins = hexutil.Encode(packDemo("spin"))

// calls runs all call data on the contracts, from several senders, with and without
// value and gas.
func (p *pools) calls() (list []request) {
	gases := []string{"0x2faf080", "0x5208", "0x7530", "0x186a0", "", "0x0"}
	values := []string{"", "0x0", "0x1", "0xffffffffffffffffffffffff"}
	senders := []string{"", lower(devchain.Accounts()[0].Address), lower(devchain.Deployer().Address), lower(common.HexToAddress("0xdead"))}
	targets := append(sample(p.contracts, 8), devchain.Delegator().Address)
	n := 0
	for _, to := range targets {
		for _, input := range p.inputs {
			for i, ref := range p.refs {
				n++
				c := callShape{from: senders[n%4], to: lower(to), gas: gases[n%6], value: values[n/2%4], input: input}
				if input == spins {
					if c.gas = "0x186a0"; i > 3 {
						continue
					}
				}
				list = append(list, c.both(ref)...)
			}
		}
	}
	return list
}

// oddCalls are creations, precompiles, plain transfers and what can't be paid.
func (p *pools) oddCalls() (list []request) {
	rich, poor := lower(devchain.Accounts()[0].Address), lower(common.HexToAddress("0xdead"))
	var shapes []callShape
	for i := 1; i <= 0x12; i++ {
		to := lower(common.BigToAddress(big.NewInt(int64(i))))
		shapes = append(shapes, callShape{to: to, gas: "0x2faf080", input: "0x"}, callShape{to: to, gas: "0x2faf080", input: "0x" + strings.Repeat("01", 128)})
	}
	for _, code := range creations() {
		shapes = append(shapes, callShape{input: code, gas: "0xf4240"}, callShape{from: rich, input: code, value: "0x1"}, callShape{from: poor, input: code, gas: "0xcf08"})
	}
	for _, a := range p.addresses {
		for _, value := range []string{"", "0x1", "0xde0b6b3a7640000", "0x" + strings.Repeat("f", 64)} {
			shapes = append(shapes, callShape{from: rich, to: lower(a), value: value}, callShape{from: poor, to: lower(a), value: value, gas: "0x5208"})
		}
	}
	for _, gas := range []string{"0x5207", "0x5208", "0x5209", "0x1000000", "0x1000001", "0x23c34600", "0x23c34601", "0xffffffffffffffff"} {
		shapes = append(shapes, callShape{from: rich, to: poor, gas: gas}, callShape{to: lower(p.addresses[0]), input: p.inputs[0], gas: gas})
	}
	shapes = append(shapes, callShape{}, callShape{gas: "0x2faf080"}, callShape{value: "0x1"}, callShape{to: lower(devchain.DemoAddress()), input: spins})
	for _, s := range shapes {
		for _, ref := range []string{`"latest"`, `"0x1"`, `"earliest"`, `"` + p.blocks[len(p.blocks)/2].Hash().Hex() + `"`} {
			if s.input == spins && ref != `"latest"` {
				continue
			}
			list = append(list, s.both(ref)...)
		}
	}
	return list
}

// creations are init codes: the demo's, an empty one, and ones that fail in every
// way a creation can, or read the block they run in.
func creations() []string {
	return []string{
		hexutil.Encode(devchain.DemoCode()),
		"0x",
		"0x00",
		"0xfe",                              // INVALID
		"0x60006000fd",                      // REVERT without data
		"0x5f5ffd",                          // the same with PUSH0: no opcode before Shanghai
		"0x01",                              // stack underflow
		"0x60ef60005360016000f3",            // code that begins with 0xef
		"0x620186a06000f3",                  // code that is too large
		"0x5b600056",                        // an endless loop
		"0x600056",                          // a jump to nowhere
		"0x43405f5260205ff3",                // BLOCKHASH of this block
		"0x6001430340600052602060" + "00f3", // BLOCKHASH of its parent
		"0x4260005260206000f3",              // TIMESTAMP
		"0x4860005260206000f3",              // BASEFEE
		"0x4a60005260206000f3",              // BLOBBASEFEE
		"0x4460005260206000f3",              // PREVRANDAO or DIFFICULTY
		"0x4560005260206000f3",              // GASLIMIT
		"0x4160005260206000f3",              // COINBASE
		"0x3a60005260206000f3",              // GASPRICE
		"0x3260005260206000f3",              // ORIGIN
		"0x4660005260206000f3",              // CHAINID
		"0x5a60005260206000f3",              // GAS: the result depends on the limit
		"0x4760005260206000f3",              // SELFBALANCE
		"0x30ff",                            // SELFDESTRUCT
		"0x" + strings.Repeat("5b", 49153),  // init code that is too large
	}
}

func lower(a common.Address) string { return strings.ToLower(a.Hex()) }

// everything is the whole corpus; of its large parts, a fair share on long chains.
func (p *pools) everything() []request {
	const most = 7000
	list := p.lookups()
	for _, part := range [][]request{p.storage(), p.proofs(), p.calls(), p.oddCalls()} {
		list = append(list, thin(part, most)...)
	}
	return list
}

// thin takes n elements by chance, the same ones each time: the corpus is made by
// nested loops, and every n-th of it would leave out whole combinations.
func thin(list []request, n int) []request {
	if len(list) <= n {
		return list
	}
	out := make([]request, n)
	for i, j := range rand.New(rand.NewPCG(1, 1)).Perm(len(list))[:n] {
		out[i] = list[j]
	}
	return out
}

// thinEach keeps at most n requests of each method.
func thinEach(list []request, n int) (out []request) {
	groups := byMethod(list)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, thin(groups[name], n)...)
	}
	return out
}
