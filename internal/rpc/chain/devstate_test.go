package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

const stranger = "0x00000000000000000000000000000000000000aa"

// developing is a request of a key with the scope development.
func developing() context.Context {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&nodegate.Policy{Development: true})
	grant, _ := nodegate.NewGrant("a", "k", policy)
	return nodegate.WithGrant(context.Background(), grant)
}

// changes are what development methods set and how it is read.
var changes = []struct{ method, params, read, readParams, want string }{
	{"hardhat_setBalance", `["` + stranger + `","0xde0b6b3a7640000"]`, "eth_getBalance", `["` + stranger + `","latest"]`, `"0xde0b6b3a7640000"`},
	{"anvil_setBalance", `["` + stranger + `",7]`, "eth_getBalance", `["` + stranger + `","latest"]`, `"0x7"`},
	{"evm_setAccountBalance", `["` + stranger + `","0x8"]`, "eth_getBalance", `["` + stranger + `","latest"]`, `"0x8"`},
	{"hardhat_setCode", `["` + stranger + `","0x600160005260206000f3"]`, "eth_getCode", `["` + stranger + `","latest"]`, `"0x600160005260206000f3"`},
	{"hardhat_setNonce", `["` + stranger + `","0x9"]`, "eth_getTransactionCount", `["` + stranger + `","latest"]`, `"0x9"`},
	{"hardhat_setStorageAt", `["` + stranger + `","0x1","0x` + strings.Repeat("00", 31) + `2a"]`, "eth_getStorageAt", `["` + stranger + `","0x1","latest"]`, `"0x` + strings.Repeat("00", 31) + `2a"`},
}

// change sets everything and checks it.
func change(t *testing.T, n *Node) {
	t.Helper()
	for _, c := range changes {
		time := n.engine.eth.BlockChain().CurrentBlock().Time
		want := "true"
		if strings.HasPrefix(c.method, "anvil_") {
			want = "null"
		}
		if got := call(t, n, c.method, c.params); got != want {
			t.Errorf("%s = %s", c.method, got)
		}
		if got := call(t, n, c.read, c.readParams); got != c.want {
			t.Errorf("after %s %s is %s", c.method, c.read, got)
		}
		if got := n.engine.eth.BlockChain().CurrentBlock().Time; got != time {
			t.Errorf("%s moved the time by %d", c.method, got-time)
		}
	}
}

// changed sees that what was set is still there.
func changed(t *testing.T, n *Node) {
	t.Helper()
	for _, c := range changes[2:] {
		if got := call(t, n, c.read, c.readParams); got != c.want {
			t.Errorf("%s is %s", c.read, got)
		}
	}
	if got := call(t, n, "eth_call", `[{"to":"`+stranger+`"},"latest"]`); !strings.HasSuffix(got, `01"`) {
		t.Errorf("the code that was set returns %s", got)
	}
}

// What is set is read by both paths and stays when go-ethereum's own blocks follow.
func TestSetState(t *testing.T) {
	n := openDevnet(t)
	change(t, n)
	agree(t, n, nil, nil)
	var h history
	s := newSender(n, 0)
	for v := range int64(3) {
		h.mine(t, n, s, v)
	}
	call(t, n, "evm_mine", "[]")
	changed(t, n)
	agree(t, n, h.blocks, h.txs)
}

// roleDevelop sets everything, says so and waits for its end.
func roleDevelop(dir string) {
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	steps := [][2]string{
		{"evm_setAutomine", "[false]"}, {"hardhat_impersonateAccount", `["` + stranger + `"]`},
		{"eth_sendTransaction", `[{"from":"` + lower(devchain.Deployer().Address) + `"}]`}, // refused
	}
	for _, c := range changes {
		steps = append(steps, [2]string{c.method, c.params})
	}
	steps = append(steps, [2]string{"hardhat_setBalance", `["` + stranger + `","0xde0b6b3a7640000"]`}, [2]string{"eth_sendTransaction", `[{"from":"` + stranger + `","to":"` + stranger + `","gas":"0x30d40"}]`},
		[2]string{"hardhat_setNextBlockBaseFeePerGas", `["0x1234567"]`}, [2]string{"evm_setNextBlockTimestamp", `["0xf0000000"]`})
	for _, step := range steps {
		if _, err := n.Call(context.Background(), step[0], []byte(step[1])); err != nil && !strings.Contains(step[1], lower(devchain.Deployer().Address)) {
			fmt.Println(step, err)
		}
	}
	fmt.Println("set")
	select {}
}

// TestDevelopmentSurvivesKill: what was set is there after kill -9: state, settings, and a
// transaction of an impersonated account that waits.
func TestDevelopmentSurvivesKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	cmd := child(t, "develop", dir)
	out, err := cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	linesOf(out, func(line string) {
		if line != "set" {
			t.Errorf("the child said %q", line)
		}
		_ = cmd.Process.Kill()
	})
	_ = cmd.Wait()
	timer.Stop()
	n := openTemp(t, presetConfig(devchain.Devnet(), dir))
	for _, c := range changes[3:] {
		if got := call(t, n, c.read, c.readParams); got != c.want {
			t.Errorf("%s is %s", c.read, got)
		}
	}
	if got := call(t, n, "hardhat_getAutomine", "[]"); got != "false" {
		t.Errorf("automine is %s", got)
	}
	if got := call(t, n, "eth_accounts", "[]"); !strings.Contains(got, stranger) {
		t.Errorf("impersonated is nobody: %s", got)
	}
	call(t, n, "evm_mine", "[]")
	block := callInto[struct {
		BaseFeePerGas, Timestamp string
		Transactions             []struct{ From, Hash string }
	}](t, n, "eth_getBlockByNumber", `["latest",true]`)
	if block.BaseFeePerGas != "0x1234567" || block.Timestamp != "0xf0000000" || len(block.Transactions) != 1 || block.Transactions[0].From != stranger {
		t.Errorf("the next block is %+v", block)
	}
}

// blockOf reads what tests look at.
type blockOf struct {
	Number, Timestamp, GasLimit hexutil.Uint64
	BaseFeePerGas               *hexutil.Big
	Miner                       common.Address
	MixHash                     common.Hash
}

func latest(t *testing.T, n *Node) blockOf {
	t.Helper()
	return callInto[blockOf](t, n, "eth_getBlockByNumber", `["latest",false]`)
}

// TestNextBlock: what is set for the next block holds for it, behind blocks that only set
// state, and not for the one after it.
func TestNextBlock(t *testing.T) {
	n := openDevnet(t)
	at := uint64(time.Now().Unix()) + 5000
	random := common.HexToHash("0x1234")
	call(t, n, "evm_setNextBlockTimestamp", fmt.Sprintf("[%d]", at))
	call(t, n, "hardhat_setNextBlockBaseFeePerGas", `["0x77359400"]`)
	call(t, n, "hardhat_setPrevRandao", `["`+random.Hex()+`"]`)
	call(t, n, "hardhat_setCoinbase", `["`+stranger+`"]`)
	call(t, n, "evm_setBlockGasLimit", `["0x2faf080"]`)
	call(t, n, "hardhat_setBalance", `["`+stranger+`","0x1"]`)
	s := newSender(n, 0)
	mined(t, n, send(t, n, s.setValue(1)))
	b := latest(t, n)
	if uint64(b.Timestamp) != at || b.BaseFeePerGas.String() != "0x77359400" || b.MixHash != random || b.Miner != common.HexToAddress(stranger) || b.GasLimit != 50_000_000 {
		t.Errorf("the block is %+v", b)
	}
	mined(t, n, send(t, n, s.setValue(2)))
	next := latest(t, n)
	if next.Timestamp <= b.Timestamp || uint64(next.Timestamp) > at+60 || next.BaseFeePerGas.String() == "0x77359400" || next.MixHash == random || next.Miner != b.Miner || next.GasLimit != b.GasLimit {
		t.Errorf("the block after it is %+v", next)
	}
	agree(t, n, nil, nil)
}

// TestClock: the chain's clock goes on from where it was put, and a revert puts it back.
func TestClock(t *testing.T) {
	n := openDevnet(t)
	near := func(what string, want int64) {
		t.Helper()
		call(t, n, "evm_mine", "[]")
		if got := int64(latest(t, n).Timestamp); got < want || got > want+60 {
			t.Errorf("%s: the block's time is %d, want %d", what, got, want)
		}
	}
	now := time.Now().Unix()
	near("at first", now)
	snapshot := call(t, n, "evm_snapshot", "[]")
	if got := call(t, n, "evm_increaseTime", "[86400]"); got != "86400" {
		t.Errorf("evm_increaseTime = %s", got)
	}
	near("a day later", now+86400)
	near("the next one", now+86400)
	call(t, n, "evm_setTime", fmt.Sprintf("[%d]", now+2*86400))
	near("set", now+2*86400)
	call(t, n, "evm_mine", fmt.Sprintf("[%d]", now+3*86400))
	if got := int64(latest(t, n).Timestamp); got != now+3*86400 {
		t.Errorf("evm_mine with a time: %d", got)
	}
	near("and on from there", now+3*86400)
	call(t, n, "evm_revert", "["+snapshot+"]")
	near("after the revert", now)
}

func TestMineMany(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "hardhat_mine", `["0x96","0x3c"]`)
	b := latest(t, n)
	first := callInto[blockOf](t, n, "eth_getBlockByNumber", `["0xb",false]`)
	if b.Number != 160 || b.Timestamp-first.Timestamp != 149*60 {
		t.Errorf("the head is %d, %d seconds after the first", b.Number, b.Timestamp-first.Timestamp)
	}
	call(t, n, "anvil_mine", `["0x2","0x0"]`)
	call(t, n, "evm_mine", `[{"blocks":"0x3"}]`)
	if got := head(t, n); got != 165 {
		t.Errorf("head is %d", got)
	}
	if got := tagsOf(t, n); got.finalized != 160 {
		t.Errorf("finalized is %d", got.finalized)
	}
}

func TestAutomine(t *testing.T) {
	n := openDevnet(t)
	s := newSender(n, 0)
	call(t, n, "evm_setAutomine", "[false]")
	hash := send(t, n, s.setValue(1))
	time.Sleep(50 * time.Millisecond)
	if got := call(t, n, "eth_getTransactionReceipt", `["`+hash.Hex()+`"]`); got != "null" {
		t.Fatalf("mined although automine is off: %s", got)
	}
	call(t, n, "evm_mine", "[]")
	mined(t, n, hash)
	hash = send(t, n, s.setValue(2))
	call(t, n, "evm_setAutomine", "[true]")
	mined(t, n, hash)
	call(t, n, "evm_setIntervalMining", "[100]")
	before := head(t, n)
	eventually(t, "blocks come by themselves", func() bool { return head(t, n) > before+2 })
	call(t, n, "evm_setIntervalMining", "[0]")
	stopped := head(t, n)
	time.Sleep(250 * time.Millisecond)
	if got := head(t, n); got > stopped+1 {
		t.Errorf("%d blocks came after the interval ended", got-stopped)
	}
}

// TestDeveloperWaits: a developer's transaction is in a block when it is answered.
func TestDeveloperWaits(t *testing.T) {
	n := openDevnet(t)
	s := newSender(n, 0)
	for v := range int64(20) {
		tx := s.setValue(v)
		raw, err := tx.MarshalBinary()
		mustDo(t, err)
		_, err = n.Call(developing(), "eth_sendRawTransaction", []byte(`["`+hexutil.Encode(raw)+`"]`))
		mustDo(t, err)
		if !n.isMined(tx.Hash()) {
			t.Fatalf("transaction %d is not mined", v)
		}
	}
}

type sentBy struct {
	From            common.Address
	ContractAddress *common.Address
	Status          hexutil.Uint64
	BlockNumber     *hexutil.Uint64
}

// TestImpersonate: a contract sends. Its transaction has its sender wherever it is shown, by
// both paths and after a restart.
func TestImpersonate(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	demo := devchain.DemoAddress()
	call(t, n, "hardhat_setBalance", `["`+lower(demo)+`","0xde0b6b3a7640000"]`)
	call(t, n, "hardhat_impersonateAccount", `["`+lower(demo)+`"]`)
	sent := callInto[common.Hash](t, n, "eth_sendTransaction", `[{"from":"`+lower(demo)+`","to":"`+stranger+`","value":"0x5"}]`)
	made := callInto[common.Hash](t, n, "eth_sendTransaction", `[{"from":"`+lower(demo)+`","data":"0x600160005360016000f3"}]`)
	state, err := n.engine.eth.BlockChain().State()
	mustDo(t, err)
	created := crypto.CreateAddress(demo, state.GetNonce(demo)-1)
	check := func() {
		t.Helper()
		for _, hash := range []common.Hash{sent, made} {
			for _, m := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt"} {
				if got := callInto[sentBy](t, n, m, `["`+hash.Hex()+`"]`); got.From != demo || got.BlockNumber == nil {
					t.Errorf("%s: %+v", m, got)
				}
			}
		}
		r := callInto[sentBy](t, n, "eth_getTransactionReceipt", `["`+made.Hex()+`"]`)
		if r.ContractAddress == nil || *r.ContractAddress != created || r.Status != 1 {
			t.Errorf("the contract is at %v, want %v", r.ContractAddress, created)
		}
		if got := call(t, n, "eth_getCode", `["`+lower(created)+`","latest"]`); got != `"0x01"` {
			t.Errorf("the contract's code is %s", got)
		}
		full := callInto[struct{ Transactions []sentBy }](t, n, "eth_getBlockByNumber", `["latest",true]`)
		if len(full.Transactions) != 1 || full.Transactions[0].From != demo {
			t.Errorf("the block has %+v", full)
		}
		if got := call(t, n, "eth_getBalance", `["`+stranger+`","latest"]`); got != `"0x5"` {
			t.Errorf("the recipient has %s", got)
		}
	}
	check()
	closeNode(t, n)
	n = openTemp(t, cfg)
	check()
	call(t, n, "hardhat_stopImpersonatingAccount", `["`+lower(demo)+`"]`)
	_, err = n.Call(t.Context(), "eth_sendTransaction", []byte(`[{"from":"`+lower(demo)+`","to":"`+stranger+`"}]`))
	wantCode(t, err, nodegate.ExecutionFailed)
}

// TestImpersonatedWait: without automine transactions of impersonated accounts wait, are
// found, and are mined in order with those of the pool. What can't be paid is refused.
func TestImpersonatedWait(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "anvil_autoImpersonateAccount", "[true]")
	_, err := n.Call(t.Context(), "eth_sendTransaction", []byte(`[{"from":"`+stranger+`","to":"`+stranger+`","value":"0x5","gas":"0x5208"}]`))
	if e := wantCode(t, err, nodegate.ExecutionFailed); !strings.Contains(e.Msg, "insufficient funds") {
		t.Errorf("refused with %q", e.Msg)
	}
	call(t, n, "hardhat_setBalance", `["`+stranger+`","0xde0b6b3a7640000"]`)
	call(t, n, "evm_setAutomine", "[false]")
	var hashes []common.Hash
	for range 3 {
		hashes = append(hashes, callInto[common.Hash](t, n, "eth_sendTransaction", `[{"from":"`+stranger+`","to":"`+stranger+`"}]`))
	}
	pooled := send(t, n, newSender(n, 0).setValue(1))
	if got := callInto[sentBy](t, n, "eth_getTransactionByHash", `["`+hashes[1].Hex()+`"]`); got.From != common.HexToAddress(stranger) || got.BlockNumber != nil {
		t.Errorf("waiting: %+v", got)
	}
	if got := call(t, n, "hardhat_dropTransaction", `["`+hashes[2].Hex()+`"]`); got != "true" {
		t.Errorf("dropped: %s", got)
	}
	call(t, n, "evm_mine", "[]")
	for _, hash := range append(hashes[:2:2], pooled) {
		if r := mined(t, n, hash); uint64(r.BlockNumber) != head(t, n) {
			t.Errorf("%s is in block %d", hash, r.BlockNumber)
		}
	}
	if got := call(t, n, "eth_getTransactionByHash", `["`+hashes[2].Hex()+`"]`); got != "null" {
		t.Errorf("the dropped one: %s", got)
	}
	agree(t, n, nil, nil)
}

// TestDevelopmentAccounts: eth_sendTransaction signs for the accounts of the genesis.
func TestDevelopmentAccounts(t *testing.T) {
	n := openDevnet(t)
	accounts := callInto[[]common.Address](t, n, "eth_accounts", "[]")
	if len(accounts) != 10 || accounts[3] != devchain.Accounts()[3].Address {
		t.Fatalf("eth_accounts = %v", accounts)
	}
	params := `[{"from":"` + lower(accounts[3]) + `","to":"` + stranger + `","value":"0x1"}]`
	hash := callInto[common.Hash](t, n, "eth_sendTransaction", params)
	mined(t, n, hash)
	if got := callInto[sentBy](t, n, "eth_getTransactionByHash", `["`+hash.Hex()+`"]`); got.From != accounts[3] {
		t.Errorf("sent by %s", got.From)
	}
}

func TestDropTransactions(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "evm_setAutomine", "[false]")
	a, b := newSender(n, 0), newSender(n, 1)
	gone, stays := send(t, n, a.setValue(1)), send(t, n, b.setValue(2))
	if got := call(t, n, "hardhat_dropTransaction", `["`+gone.Hex()+`"]`); got != "true" {
		t.Errorf("hardhat_dropTransaction = %s", got)
	}
	if got := call(t, n, "anvil_dropTransaction", `["`+gone.Hex()+`"]`); got != "null" {
		t.Errorf("the second time: %s", got)
	}
	call(t, n, "evm_mine", "[]")
	mined(t, n, stays)
	if got := call(t, n, "eth_getTransactionByHash", `["`+gone.Hex()+`"]`); got != "null" {
		t.Errorf("it is there: %s", got)
	}
	send(t, n, b.setValue(3))
	call(t, n, "anvil_dropAllTransactions", "[]")
	call(t, n, "evm_mine", "[]")
	if count := call(t, n, "eth_getBlockTransactionCountByNumber", `["latest"]`); count != `"0x0"` {
		t.Errorf("the block has %s transactions", count)
	}
}

// TestReset goes back to the first start, also after a restart.
func TestReset(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	call(t, n, "evm_mine", "[]")
	closeNode(t, n)
	n = openTemp(t, cfg)
	change(t, n)
	call(t, n, "evm_setAutomine", "[false]")
	call(t, n, "evm_increaseTime", "[86400]")
	call(t, n, "hardhat_reset", "[]")
	if got := head(t, n); got != 10 {
		t.Errorf("head is %d", got)
	}
	if got := call(t, n, "eth_getBalance", `["`+stranger+`","latest"]`); got != `"0x0"` {
		t.Errorf("the balance is %s", got)
	}
	agree(t, n, nil, nil)
	mined(t, n, send(t, n, newSender(n, 0).setValue(1)))
	if got := int64(latest(t, n).Timestamp); got > time.Now().Unix()+60 {
		t.Errorf("the clock is still ahead: %d", got)
	}
}

func TestDevelopmentInfo(t *testing.T) {
	n := openDevnet(t)
	var version string
	result, err := n.Call(developing(), "web3_clientVersion", nil)
	mustDo(t, err)
	mustDo(t, json.Unmarshal(result, &version))
	if !strings.HasPrefix(version, "HardhatNetwork/nodegate/") {
		t.Errorf("a developer sees %s", version)
	}
	if got := call(t, n, "web3_clientVersion", "[]"); !strings.HasPrefix(got, `"nodegate/`) {
		t.Errorf("others see %s", got)
	}
	m := callInto[struct {
		ChainID, LatestBlockNumber uint64
		LatestBlockHash            common.Hash
	}](t, n, "hardhat_metadata", "[]")
	if m.ChainID != 1337 || m.LatestBlockNumber != 10 || m.LatestBlockHash != n.engine.eth.BlockChain().CurrentBlock().Hash() {
		t.Errorf("hardhat_metadata = %+v", m)
	}
	info := callInto[struct {
		CurrentBlockNumber hexutil.Uint64
		Environment        struct{ ChainID *big.Int }
	}](t, n, "anvil_nodeInfo", "[]")
	if info.CurrentBlockNumber != 10 || info.Environment.ChainID.Uint64() != 1337 {
		t.Errorf("anvil_nodeInfo = %+v", info)
	}
}
