package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// rounds asks the BLAKE2 contract for so many.
func rounds(n uint32) string { return fmt.Sprintf("0x%08x%s", n, strings.Repeat("00", 209)) }

// execution is a request that runs for very long, and the network it is sent to.
type execution struct {
	network, method string
	params          []string
}

// longExecutions are such requests in many forms, on two networks.
func longExecutions(count int) (list []execution) {
	const gas = `"gas":"0x23c34600"` // 600 million
	call := func(contract int, input string) string {
		return fmt.Sprintf(`{"to":"0x%040x",%s,"input":"%s"}`, contract, gas, input)
	}
	pairs := "0x" + strings.Repeat("00", 960_000)
	power := "0x" + fmt.Sprintf("%064x%064x%064x", 800, 1000, 800) + strings.Repeat("ff", 2600)
	override := `{"0x00000000000000000000000000000000000000aa":{"balance":"0x1"}}`
	for i := range count {
		network := []string{"devnet", "rollup"}[i%2]
		object := []string{call(9, rounds(200_000_000)), call(9, rounds(590_000_000)), call(8, pairs), call(5, power)}[i/2%4]
		e := execution{network, "eth_call", []string{object, `"latest"`}}
		switch i % 6 {
		case 1:
			e.method = "eth_estimateGas"
		case 2:
			e.params = append(e.params, override)
		case 3:
			e.method, e.params = "eth_simulateV1", []string{`{"blockStateCalls":[{"calls":[` + object + `]}]}`, `"latest"`}
		case 4:
			e.method, e.params = "eth_createAccessList", []string{strings.Replace(object, gas, `"gas":"0x2faf080"`, 1), `"latest"`}
		}
		list = append(list, e)
	}
	return list
}

// sendAll sends requests within a second, none waiting for another, and returns the longest time that one took, and how many
// ended in which way.
func (p *program) sendAll(t *testing.T, key string, list []execution) (longest time.Duration, ends map[string]int) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	ends = map[string]int{}
	for i, e := range list {
		wait.Go(func() {
			time.Sleep(time.Second * time.Duration(i) / time.Duration(len(list)))
			begun := time.Now()
			_, err := p.rpc(context.Background(), e.network, key, e.method, e.params...)
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(begun))
			end := "answered"
			if err != nil {
				end = err.Error()
			}
			ends[end]++
		})
	}
	wait.Wait()
	return longest, ends
}

// TestLongExecutions is row 40: precompiled contracts that would run for minutes, from one
// key of the free plan.
func TestLongExecutions(t *testing.T) {
	timeout := time.Duration(length(1, 5)) * time.Second
	o := begin(t, 40, "30 long precompile calls on two networks, 50 eth_blockNumber a second beside them", "p99 within 3x, none fails; each call ends within call_timeout + 0.5 s")
	b := newSandbox(t, "NODEGATE_LIMITS_CALL_TIMEOUT="+timeout.String())
	p := b.start()
	b.account("attacker@example.com", "free")
	b.account("innocent@example.com", "unlimited")
	attacker, _ := b.newKey("attacker@example.com")
	innocent, _ := b.newKey("innocent@example.com")
	during := time.Duration(length(2, 8)) * time.Second
	list := longExecutions(length(12, 30))
	o.contest(t, func() (string, bool) {
		alone := p.innocent("devnet", innocent, 50, during)
		var longest time.Duration
		var ends map[string]int
		var wait sync.WaitGroup
		wait.Go(func() { longest, ends = p.sendAll(t, attacker, list) })
		beside := p.innocent("devnet", innocent, 50, during)
		wait.Wait()
		t.Logf("the calls ended: %v", ends)
		for end := range ends {
			if strings.Contains(end, "EOF") || strings.Contains(end, "Timeout exceeded") {
				t.Errorf("a call was not answered: %s", end)
			}
		}
		if alone.Failed+beside.Failed > 0 {
			t.Errorf("the innocent failed: alone %v, beside %v", alone, beside)
		}
		time.Sleep(time.Duration(length(0, 6)) * time.Second) // what the attacker pays comes back
		return fmt.Sprintf("innocent %v; alone %v; the longest call took %v", beside, alone, longest.Round(time.Millisecond)),
			beside.P99 <= 3*alone.P99 && longest <= timeout+500*time.Millisecond
	})
}

// TestEndlessTrace is a part of row 42: a trace of a loop without an end.
func TestEndlessTrace(t *testing.T) {
	const limit = 256 << 20 // the collector lets the heap grow to four times of what is live
	o := begin(t, 42, "debug_traceCall of an endless loop", "response too large, memory below +256 MB, innocent p99 within 2x")
	b := newSandbox(t)
	file := b.path("debug.yaml")
	if err := os.WriteFile(file, []byte("networks:\n  - {name: devnet, embedded: {}, namespaces: [debug]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "NODEGATE_CONFIG="+file)
	p := b.start()
	b.account("innocent@example.com", "unlimited")
	innocent, _ := b.newKey("innocent@example.com")
	call := `{"gas":"0x23c34600","input":"0x5b600056"}`
	during := time.Duration(length(1, 5)) * time.Second
	o.contest(t, func() (string, bool) {
		alone := p.innocent("devnet", innocent, 50, during)
		var beside figures
		refused := 0
		grown := p.growth(func() {
			var wait sync.WaitGroup
			wait.Go(func() { beside = p.innocent("devnet", innocent, 50, during) })
			for begun := time.Now(); time.Since(begun) < during; {
				_, err := p.rpc(context.Background(), "devnet", p.key, "debug_traceCall", call, `"latest"`, `{"timeout":"1h"}`)
				if err == nil || !strings.Contains(err.Error(), "response too large") && !strings.Contains(err.Error(), "request timed out") {
					t.Errorf("a trace without an end: %v", err)
				}
				refused++
			}
			wait.Wait()
		})
		if grown > limit {
			t.Errorf("memory +%d MB", grown>>20)
		}
		return fmt.Sprintf("%d traces refused, memory +%d MB; innocent %v; alone %v", refused, grown>>20, beside, alone), beside.P99 <= 2*alone.P99
	})
}

// TestManyKeysOneShare is a part of row 49: the heavy calls of many keys of one account.
func TestManyKeysOneShare(t *testing.T) {
	keys := length(4, 40)
	o := begin(t, 49, fmt.Sprintf("heavy calls of %d keys of one account beside one key of another", keys), "the same share")
	b := newSandbox(t)
	p := b.start()
	b.account("many@example.com", "unlimited")
	b.account("one@example.com", "unlimited")
	var many []string
	for range keys {
		key, _ := b.newKey("many@example.com")
		many = append(many, key)
	}
	one, _ := b.newKey("one@example.com")
	o.contest(t, func() (string, bool) {
		var ofMany, ofOne atomic.Int32
		var wait sync.WaitGroup
		end := time.Now().Add(time.Duration(length(2, 10)) * time.Second)
		// A machine with much else to do needs longer for the first calls than all take on others.
		goesOn := func() bool {
			return time.Now().Before(end) || ofOne.Load() == 0 && time.Now().Before(end.Add(30*time.Second))
		}
		repeat := func(key string, count *atomic.Int32) {
			for goesOn() {
				call := fmt.Sprintf(`{"to":"0x%040x","from":"0x%040x","gas":"0x2faf080","input":"%s"}`, 9, time.Now().UnixNano(), rounds(5_000_000))
				if _, err := p.rpc(context.Background(), "devnet", key, "eth_call", call, `"latest"`); err == nil {
					count.Add(1)
				}
			}
		}
		for _, key := range many {
			wait.Go(func() { repeat(key, &ofMany) })
		}
		for range 4 { // one key that always has a call waiting
			wait.Go(func() { repeat(one, &ofOne) })
		}
		wait.Wait()
		if ofOne.Load() == 0 {
			t.Error("one key got no seat")
		}
		return fmt.Sprintf("%d calls of %d keys, %d of one key", ofMany.Load(), keys, ofOne.Load()), 2*ofOne.Load() >= ofMany.Load()
	})
}

// TestMinedRounds measures what a mined BLAKE2 transaction costs the others. It can't be
// stopped: every node must get the same block.
func TestMinedRounds(t *testing.T) {
	o := begin(t, 40, "mined BLAKE2 transactions of 16 million rounds, 50 eth_blockNumber a second beside them", "measured only")
	b := newSandbox(t)
	p := b.start()
	b.account("innocent@example.com", "unlimited")
	innocent, _ := b.newKey("innocent@example.com")
	during := time.Duration(length(1, 8)) * time.Second
	alone := p.innocent("devnet", innocent, 50, during)
	sent := 0
	var wait sync.WaitGroup
	wait.Go(func() {
		for end := time.Now().Add(during); time.Now().Before(end); sent++ {
			p.mineRounds(t, uint64(sent), 16_000_000)
		}
	})
	beside := p.innocent("devnet", innocent, 50, during)
	wait.Wait()
	if beside.Failed > 0 {
		t.Errorf("the innocent failed: %v", beside)
	}
	o.say("%d mined; innocent %v, slowest %v; alone %v, slowest %v", sent, beside, round(beside.Slowest), alone, round(alone.Slowest))
}

// mineRounds sends a transaction to the BLAKE2 contract and waits until it is mined.
func (p *program) mineRounds(t *testing.T, offset uint64, count uint32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	account := devchain.Accounts()[3]
	var nonce hexutil.Uint64
	raw, err := p.rpc(ctx, "devnet", p.key, "eth_getTransactionCount", `"`+account.Address.Hex()+`"`, `"latest"`)
	if err != nil || nonce.UnmarshalJSON(raw) != nil {
		t.Errorf("nonce: %s %v", raw, err)
		return
	}
	to, data := common.BytesToAddress([]byte{9}), hexutil.MustDecode(rounds(count))
	binary.BigEndian.PutUint64(data[100:], uint64(nonce)) // go-ethereum remembers results by input
	tx := types.MustSignNewTx(account.PrivateKey, types.LatestSignerForChainID(big.NewInt(1337)), &types.LegacyTx{
		Nonce: uint64(nonce), To: &to, Gas: 16_700_000, GasPrice: big.NewInt(100_000_000_000), Data: data,
	})
	encoded, _ := tx.MarshalBinary()
	if _, err := p.rpc(ctx, "devnet", p.key, "eth_sendRawTransaction", `"`+hexutil.Encode(encoded)+`"`); err != nil {
		t.Errorf("transaction %d: %v", offset, err)
		return
	}
	for ctx.Err() == nil {
		receipt, err := p.rpc(ctx, "devnet", p.key, "eth_getTransactionReceipt", `"`+tx.Hash().Hex()+`"`)
		if err == nil && string(receipt) != "null" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("transaction %d was not mined", offset)
}
