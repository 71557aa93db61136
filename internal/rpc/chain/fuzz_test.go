package chain

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// fuzzTarget is a chain with the values that inputs are made of.
type fuzzTarget struct {
	node  *Node
	pools *pools
}

// fuzzTargets are opened once a process. Their time limit is short: a fuzzer finds
// endless loops by the dozen.
var fuzzTargets = sync.OnceValue(func() []fuzzTarget {
	var targets []fuzzTarget
	for _, p := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		cfg := presetConfig(p, "")
		cfg.CallTimeout = 2 * time.Second
		n, err := openOnce(func() (*Node, error) { return Open(cfg) })()
		if err != nil {
			panic(err)
		}
		targets = append(targets, fuzzTarget{n, newPools(n)})
	}
	return targets
})

// fuzzMethods is what an input's method byte chooses from.
var fuzzMethods = []string{
	"eth_getStorageAt", "eth_getProof", "eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex",
	"eth_getTransactionReceipt", "eth_getBlockReceipts", "eth_call", "eth_estimateGas", "eth_blockNumber", "eth_chainId",
}

// FuzzNativeAgainstGeneric looks for a call that both paths answer, and answer
// differently. With an odd mode the data are the parameters of one call; with an
// even one they choose several calls from what the chain holds, so that most are
// meaningful.
func FuzzNativeAgainstGeneric(f *testing.F) {
	addRawSeeds(f)
	addChosenSeeds(f)
	f.Fuzz(func(t *testing.T, mode, method uint8, data []byte) {
		targets := fuzzTargets()
		target := targets[int(mode/2)%len(targets)]
		if mode%2 == 1 {
			check(t, target.node, request{fuzzMethods[int(method)%len(fuzzMethods)], string(data)})
			return
		}
		c := &choices{data: data}
		for i := 0; i < maxChosen && len(c.data) > 0; i++ {
			check(t, target.node, target.pools.choose(fuzzMethods[(int(method)+i)%len(fuzzMethods)], c))
		}
	})
}

// maxChosen calls are made of one input: what a run costs beside them is more
// than a call.
const maxChosen = 8

// addRawSeeds gives the fuzzer some of every kind of request in the corpus, and
// parameters that are broken in the ways that parsers get wrong.
func addRawSeeds(f *testing.F) {
	for i, target := range fuzzTargets() {
		corpus := byMethod(target.pools.everything())
		for j, method := range fuzzMethods {
			for _, r := range thin(corpus[method], 3) {
				f.Add(uint8(2*i+1), uint8(j), []byte(r.params))
			}
		}
	}
	for i, garbage := range garbageParams {
		f.Add(uint8(1), uint8(i), []byte(garbage))
	}
}

// garbageParams are not canonical, not of the right form, or not JSON at all.
var garbageParams = []string{
	"", "[", "]", "[]", "[[]]", "[{}]", "{}", "null", "[null]", "[null,null,null]", "[,]", "[\"\"]", "[\"\",\"\",\"\"]",
	`["0x","0x","0x"]`, `["0x0","0x0","latest"]`, `[{"to":"0x"},"latest"]`, `[{"to":null},"latest"]`, `[{,},"latest"]`,
	`[{"gas":"0x1","gas":"0x2"},"latest"]`, `[{"a":{"b":[1,2]}},"latest"]`, `["\u0030x0"]`, "[\"0x0\" ]", "[ \"0x0\"]",
	`["0x0""0x1"]`, `["0x0"}`, `[{"to":"0x0"],"latest"]`, "[\"\xff\xfe\"]", `[1,2,3]`, `[true]`, `["latest","latest","latest"]`,
	`["0x0000000000000000000000000000000000000001",["0x0"}],"latest"]`, `["0x0000000000000000000000000000000000000001",[],"latest",null]`,
	`["0x0000000000000000000000000000000000000001",["0x0",],"latest"]`, `["0x0000000000000000000000000000000000000001",[",],"latest"]`,
	`["0x0000000000000000000000000000000000000001","0x_1","latest"]`, `["0x0000000000000000000000000000000000000001","0x+1","latest"]`,
	`[{"value":"0x_1","gas":"0xffff"},"latest"]`, `[{"value":"0X1","gas":"0xffff"},"latest"]`, `[{"value":"0x01","gas":"0xffff"},"latest"]`,
	`[{"value":"","gas":"0xffff"},"latest"]`, `[{"value":"0x","gas":"0xffff"},"latest"]`, `[{"input":"0x0","gas":"0xffff"},"latest"]`,
	`[{"input":"","gas":"0xffff"},"latest"]`, `[{"gas":"0xffff","input":"0x","input":"0x00"},"latest"]`, `[{"gas":"0xffff","data":"0x00"},"latest"]`,
	`[{"gas":"0xffff"},"Latest"]`, `[{"gas":"0xffff"},"0X1"]`, `[{"gas":"0xffff"},"0x0A"]`, `[{"gas":"0xffff"},"0xA"]`, `[{"gas":"0xFFFF"},"0xa"]`,
}

func addChosenSeeds(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		f.Add(uint8(2*(i%2)), uint8(i/2), randomBytes(random, 64+i))
	}
}

func randomBytes(random *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// TestGarbageParams asks every method with every broken parameter list.
func TestGarbageParams(t *testing.T) {
	full.Slow(t)
	for _, target := range fuzzTargets() {
		for _, method := range fuzzMethods {
			for _, garbage := range garbageParams {
				check(t, target.node, request{method, garbage})
			}
		}
	}
}

// TestRandomRequests is the fuzz target without its engine, which makes go-ethereum
// a hundred times slower. The seed is new each time; a failure shows the request.
func TestRandomRequests(t *testing.T) {
	full.Slow(t)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range full.Rounds(6000, 1500) {
		target := fuzzTargets()[i%2]
		c := &choices{data: randomBytes(random, 32+random.IntN(200))}
		check(t, target.node, target.pools.choose(fuzzMethods[random.IntN(8)], c))
	}
}

// check holds one request against the property. What is not JSON never reaches the
// chain in earnest: there it only must not panic.
func check(t *testing.T, n *Node, r request) {
	if !json.Valid([]byte(r.params)) {
		_, _, _ = n.native.Answer(t.Context(), r.method, []byte(r.params))
		_, _ = n.Call(t.Context(), r.method, []byte(r.params))
		return
	}
	problem, handled := differs(n, r)
	if problem != "" && !strings.Contains(problem, nodegate.Timeout.String()) { // which of the two is faster is chance
		t.Error(problem)
	}
	if !handled {
		_, _ = n.generic(t.Context(), r.method, []byte(r.params))
	}
}

func byMethod(list []request) map[string][]request {
	groups := map[string][]request{}
	for _, r := range list {
		groups[r.method] = append(groups[r.method], r)
	}
	return groups
}

// choices reads an input as a row of decisions. At its end every decision is 0.
type choices struct{ data []byte }

func (c *choices) next() byte {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *choices) number() uint64 {
	var b [8]byte
	n := copy(b[:c.next()%9], c.data)
	c.data = c.data[n:]
	return binary.LittleEndian.Uint64(b[:])
}

func choose[T any](c *choices, list []T) T {
	return list[(int(c.next())<<8|int(c.next()))%len(list)]
}

// choose builds a request of one method. One value in eight is made up.
func (p *pools) choose(method string, c *choices) request {
	var params string
	switch method {
	case "eth_getStorageAt":
		params = fmt.Sprintf(`["%s","%s",%s]`, lower(p.address(c)), p.slot(c), p.ref(c))
	case "eth_getProof":
		params = fmt.Sprintf(`["%s",%s,%s]`, lower(p.address(c)), p.keys(c), p.ref(c))
	case "eth_getTransactionByHash", "eth_getTransactionReceipt":
		params = fmt.Sprintf(`["%s"]`, p.hash(c, p.txs))
	case "eth_getTransactionByBlockHashAndIndex":
		params = fmt.Sprintf(`["%s","%#x"]`, choose(c, p.blocks).Hash(), c.next()%8)
	case "eth_getBlockReceipts":
		params = "[" + p.ref(c) + "]"
	case "eth_call", "eth_estimateGas":
		params = fmt.Sprintf("[%s,%s]", p.call(c), p.ref(c))
	default:
		params = "[]"
	}
	return request{method, params}
}

func (c *choices) madeUp() bool { return c.next()%8 == 7 }

func (p *pools) address(c *choices) (a common.Address) {
	if !c.madeUp() {
		return choose(c, p.addresses)
	}
	binary.BigEndian.PutUint64(a[12:], c.number())
	return a
}

func (p *pools) hash(c *choices, list []common.Hash) common.Hash {
	h := choose(c, list)
	if c.madeUp() {
		h[31] ^= c.next()
	}
	return h
}

func (p *pools) slot(c *choices) string {
	if !c.madeUp() {
		return choose(c, p.slots)
	}
	if n := c.number(); n%2 == 0 {
		return hexutil.EncodeUint64(n)
	} else {
		return common.BigToHash(hexutil.MustDecodeBig(hexutil.EncodeUint64(n))).Hex()
	}
}

func (p *pools) keys(c *choices) string {
	keys := make([]string, c.next()%6)
	for i := range keys {
		keys[i] = p.slot(c)
	}
	out, _ := json.Marshal(keys)
	return string(out)
}

func (p *pools) ref(c *choices) string {
	if c.madeUp() {
		return fmt.Sprintf(`"%#x"`, c.number())
	}
	return choose(c, p.refs)
}

// call chooses a call object. Made-up data is code for a creation: the rest of
// the input, as the fuzzer found it.
func (p *pools) call(c *choices) callShape {
	s := callShape{from: choose(c, []string{"", lower(p.address(c)), lower(devchain.Accounts()[0].Address)})}
	s.gas = choose(c, []string{"", fmt.Sprintf("%#x", 21_000+c.number()%300_000), fmt.Sprintf("%#x", c.number()%1_000_000)})
	s.value = choose(c, []string{"", "0x0", fmt.Sprintf("%#x", c.number())})
	if c.madeUp() {
		s.input = hexutil.Encode(c.data)
		return s
	}
	s.to, s.input = lower(p.address(c)), mutate(c, choose(c, p.inputs))
	if s.input == spins {
		s.gas = "0x186a0"
	}
	return s
}

// mutate changes a byte of call data, cuts it or lengthens it, or leaves it.
func mutate(c *choices, input string) string {
	data, _ := hex.DecodeString(input[2:])
	switch at := int(c.next()); c.next() % 8 {
	case 0:
		if len(data) > 0 {
			data[at%len(data)] ^= c.next()
		}
	case 1:
		data = data[:min(at, len(data))]
	case 2:
		data = append(data, bytes.Repeat([]byte{byte(at)}, at)...)
	}
	return hexutil.Encode(data)
}
