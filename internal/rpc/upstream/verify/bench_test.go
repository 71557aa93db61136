package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	gethtrie "github.com/ethereum/go-ethereum/trie"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// madeBlock is a header and receipts as a busy block has them: two in three transactions
// move tokens, with three logs each.
type madeBlock struct {
	header   *types.Header
	receipts types.Receipts
}

func makeBlock(n int) *madeBlock {
	b := &madeBlock{}
	transfer := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	for i := range n {
		r := &types.Receipt{Type: uint8(i % 5), Status: 1, CumulativeGasUsed: uint64(21000 * (i + 1)), TxHash: crypto.Keccak256Hash(fmt.Append(nil, i))}
		for j := range i % 3 * 3 / 2 {
			r.Logs = append(r.Logs, &types.Log{
				Address: common.BigToAddress(big.NewInt(int64(0xc0ffee + i%7))), Data: bytes.Repeat([]byte{byte(j)}, 32),
				Topics: []common.Hash{transfer, common.BigToHash(big.NewInt(int64(i + 1))), common.BigToHash(big.NewInt(int64(i + j + 2)))},
			})
		}
		r.Bloom = types.CreateBloom(r)
		b.receipts = append(b.receipts, r)
	}
	b.header = &types.Header{
		Number: big.NewInt(0x1234567), Difficulty: new(big.Int), GasLimit: 36_000_000, Time: 1_700_000_000, BaseFee: big.NewInt(7), UncleHash: types.EmptyUncleHash,
		ReceiptHash: types.DeriveSha(b.receipts, gethtrie.NewStackTrie(nil)), TxHash: common.Hash{1}, Bloom: types.MergeBloom(b.receipts),
	}
	return b
}

// json is the receipts as nodes send them.
func (b *madeBlock) json() []byte {
	var list []string
	index := 0
	for i, r := range b.receipts {
		var logs []string
		for _, l := range r.Logs {
			var topics []string
			for _, t := range l.Topics {
				topics = append(topics, `"`+t.Hex()+`"`)
			}
			logs = append(logs, fmt.Sprintf(`{"address":"%#x","topics":[%s],"data":"%#x","blockNumber":"%#x","transactionHash":"%#x","transactionIndex":"%#x",`+
				`"blockHash":"%#x","blockTimestamp":"0x6553f100","logIndex":"%#x","removed":false}`,
				l.Address, strings.Join(topics, ","), l.Data, b.header.Number, r.TxHash, i, b.header.Hash(), index))
			index++
		}
		list = append(list, fmt.Sprintf(`{"blockHash":"%#x","blockNumber":"%#x","contractAddress":null,"cumulativeGasUsed":"%#x","effectiveGasPrice":"0x3b9aca07",`+
			`"from":"0x%040x","gasUsed":"0x5208","logs":[%s],"logsBloom":"%#x","status":"0x1","to":"0x%040x","transactionHash":"%#x","transactionIndex":"%#x","type":"%#x"}`,
			b.header.Hash(), b.header.Number, r.CumulativeGasUsed, i, strings.Join(logs, ","), r.Bloom.Bytes(), i, r.TxHash, i, r.Type))
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

func (b *madeBlock) checked() *Header {
	return &Header{
		Hash: b.header.Hash(), Number: b.header.Number.Uint64(), ReceiptsRoot: b.header.ReceiptHash, TransactionsRoot: b.header.TxHash, Bloom: b.header.Bloom,
	}
}

// BenchmarkCheck is what the checks cost. docs/nodes.md has the figures.
func BenchmarkCheck(b *testing.B) {
	c := New("")
	byNumber := known(b, c)
	for _, s := range samples() {
		a := s.ask()
		a.ByNumber = byNumber
		if _, once := map[string]bool{
			`eth_getTransactionByHash["0x5e24293602a11146e1bd055dc58d81919f221743496b5d1229c483b83d6f8c33"]`: true, `eth_getBlockByNumber["0x7",true]`: true,
			`eth_getProof["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",["0x0","0x1","0x7777"],"0x7"]`: true, `eth_getBlockByNumber["0x7",false]`: true,
		}[s.String()]; once {
			b.Run(s.name+fmt.Sprint(len(s.result)), func(b *testing.B) { benchmark(b, c, a, s.result) })
		}
	}
	block := makeBlock(200)
	c.headers.add(block.checked())
	all := block.json()
	whole := sample{"eth_getBlockReceipts", `["0x1234567"]`, all}
	b.Run("200receipts", func(b *testing.B) { benchmark(b, c, whole.ask(), all) })
	one := makeBlock(3)
	one.receipts = one.receipts[2:]
	text := one.json()
	single := sample{"eth_getTransactionReceipt", `["` + one.receipts[0].TxHash.Hex() + `"]`, text[1 : len(text)-1]}
	b.Run("receipt", func(b *testing.B) { benchmark(b, c, single.ask(), single.result) })
}

// BenchmarkForward is the least that a remote answer costs without a check: the client reads
// it over a connection and puts it into the form that clients get.
func BenchmarkForward(b *testing.B) {
	all := makeBlock(200).json()
	answer := slices.Concat([]byte(`{"jsonrpc":"2.0","id":1,"result":`), all, []byte("}"))
	id := regexp.MustCompile(`"id":\s*([^,}]+)`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(bytes.Replace(answer, []byte(`"id":1`), []byte(`"id":`+string(id.FindSubmatch(body)[1])), 1))
	}))
	defer server.Close()
	c, err := client.NewClient(client.Config{URL: server.URL, MaxConns: 4, MaxAnswer: 64 << 20, Timeout: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	node := eth.New(forwarder{c}, eth.Config{Dialect: eth.Standard, Remote: true})
	before, n := cpu(), 0
	for b.Loop() {
		n++
		if _, err := node.Call(b.Context(), "eth_getBlockReceipts", []byte(`["0x1234567"]`)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/op")
}

// forwarder is a remote node without a pool.
type forwarder struct{ client *client.Client }

func (f forwarder) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	return f.client.CallSafe(ctx, name, params)
}

func (forwarder) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 0x1234599}, nil
}

func benchmark(b *testing.B, c *Checker, a *Ask, result []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(result)))
	before := cpu()
	n := 0
	for b.Loop() {
		n++
		if _, f := c.Check(a, result); f != nil {
			b.Fatal(f)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/op") // other work on the machine doesn't count
}

// cpu is the CPU time of this process, in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// TestRoots compares roots with go-ethereum's, for lists whose keys have one to three bytes.
func TestRoots(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 16, 17, 127, 128, 129, 130, 255, 256, 257, 300, 1000} {
		c := New("")
		block := makeBlock(n)
		c.headers.add(block.checked())
		s := sample{"eth_getBlockReceipts", `["` + block.header.Hash().Hex() + `"]`, block.json()}
		held, f := c.Check(s.ask(), s.result)
		if f != nil || !held.Has(ReceiptsRoot) {
			t.Errorf("%d receipts: %v, %v", n, f, held)
		}
	}
	var short trieList
	for i := range 300 {
		short = append(short, []byte{byte(i)})
		s := New("").pool.New().(*scratch)
		for _, e := range short {
			s.trie.data = append(s.trie.data, e...)
			s.trie.add()
		}
		if got, want := s.trie.root(), types.DeriveSha(short, gethtrie.NewStackTrie(nil)); got != want {
			t.Fatalf("%d short elements: %x, want %x", i+1, got, want)
		}
	}
}

// trieList is a list of short elements, whose nodes are inside each other.
type trieList [][]byte

func (l trieList) Len() int                           { return len(l) }
func (l trieList) EncodeIndex(i int, w *bytes.Buffer) { w.Write(l[i]) }
