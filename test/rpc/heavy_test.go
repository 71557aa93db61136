package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// busy is how much processor time this process has used.
func busy(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// idleWithin wants the process to come to rest: half a second with less than a
// fifth of one core.
func idleWithin(t *testing.T, limit time.Duration) {
	t.Helper()
	const window = 500 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); {
		before := busy(t)
		time.Sleep(window)
		if busy(t)-before < window/5 {
			return
		}
	}
	t.Errorf("still computing %v after the last client left", limit)
}

// attack sends the same call over many connections until ctx ends, and returns
// how many are in progress.
func attack(ctx context.Context, all *sync.WaitGroup, url, body string, count int) *atomic.Int32 {
	running := new(atomic.Int32)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count}}
	for range count {
		all.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
				if err != nil {
					return
				}
				req.Header.Set("Content-Type", "application/json")
				running.Add(1)
				if res, err := client.Do(req); err == nil {
					_ = res.Body.Close()
				}
				running.Add(-1)
			}
		})
	}
	return running
}

// TestExpensiveCalls has one key run 50 endless loops at once, by each way a call
// can be executed. Another key's calls are served meanwhile, and when the
// attacker leaves, so does the work.
func TestExpensiveCalls(t *testing.T) {
	priced := strings.Replace(endlessCall, "}", `,"gasPrice":"0x0"}`, 1)
	for name, params := range map[string]string{
		"latest":    endlessCall + `,"latest"`,
		"pending":   endlessCall + `,"pending"`,
		"priced":    priced + `,"latest"`,
		"overrides": endlessCall + `,"latest",{"0x000000000000000000000000000000000000beef":{"balance":"0x1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := shared(t)
			ctx, leave := context.WithCancel(t.Context())
			var attackers sync.WaitGroup
			body := `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[` + params + `]}`
			running := attack(ctx, &attackers, s.url("rollup", keyA), body, 50)
			await(t, "50 calls are under way", patience, func() bool { return running.Load() == 50 })
			// Who waited for a turn among them would wait for seconds.
			if median := waits(t, s); median > time.Second {
				t.Errorf("another key waits %v for eth_blockNumber", median)
			}
			leave()
			attackers.Wait()
			idleWithin(t, patience)
		})
	}
}

// waits calls eth_blockNumber for two seconds, up to 50 times a second, and
// returns the median of how long the answers took.
func waits(t *testing.T, s *service) time.Duration {
	var all []time.Duration
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		start := time.Now()
		call(t, s.url("rollup", keyB), "eth_blockNumber", "[]")
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	t.Logf("%d calls of another key: median %v, slowest %v", len(all), all[len(all)/2], all[len(all)-1])
	return all[len(all)/2]
}

// TestOrdinaryCallsDuringAttack has another key do what wallets do all day, while
// one key runs its endless loops. What takes a millisecond does not wait for them.
func TestOrdinaryCallsDuringAttack(t *testing.T) {
	s := shared(t)
	ctx, leave := context.WithCancel(t.Context())
	var attackers sync.WaitGroup
	defer attackers.Wait()
	defer leave()
	running := attack(ctx, &attackers, s.url("rollup", keyA), `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[`+endlessCall+`,"latest"]}`, 50)
	await(t, "50 calls are under way", patience, func() bool { return running.Load() == 50 })
	for _, c := range []struct{ method, params string }{
		{"eth_getBlockByNumber", `["latest",false]`},
		{"eth_getBalance", `["` + sender + `","latest"]`},
		{"eth_call", `[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"},"latest"]`},
		{"eth_call", `[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"},"pending"]`},
		{"eth_estimateGas", `[{"from":"` + sender + `","to":"0x000000000000000000000000000000000000beef","value":"0x1","maxFeePerGas":"0x3b9aca00"},"latest"]`},
		{"eth_getLogs", `[{"fromBlock":"0x6","toBlock":"0x6"}]`},
	} {
		var took time.Duration
		for range 3 { // on a machine that is busy with other tests, a call may not get its millisecond in time
			start := time.Now()
			call(t, s.url("rollup", keyB), c.method, c.params)
			if took = time.Since(start); took < 2*time.Second {
				break
			}
		}
		if took >= 2*time.Second {
			t.Errorf("%s%s took %v, three times", c.method, c.params, took)
		}
	}
}

// TestAccessListIsBounded makes eth_createAccessList run the endless loop. Nothing
// can stop go-ethereum's own run of it but the gas, so it is given that of a call
// and not the chain's whole allowance.
func TestAccessListIsBounded(t *testing.T) {
	body := `{"jsonrpc":"2.0","id":1,"method":"eth_createAccessList","params":[{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0xf0acd7d5"},"latest"]}`
	_, answer := post(t, shared(t).url("devnet", keyA), body)
	if want := `{"jsonrpc":"2.0","id":1,"result":{"accessList":[],"error":"out of gas","gasUsed":"0x2faf080"}}`; answer != want {
		t.Errorf("got %.200s, want an end at 50 million gas", answer)
	}
}

// TestHungryCalls has 60 calls ask for 100 MB of memory each, which rollup's gas
// pays for. They may run one after the other, not all at once.
func TestHungryCalls(t *testing.T) {
	s := shared(t)
	grown := growth(t, func() {
		concurrently(60, func(i int) {
			// PUSH4 0x06000000, PUSH0, SWAP1, MSTORE touches a word at 100 MB. Each
			// caller is another, so that no result is remembered.
			_, answer := post(t, s.url("rollup", keyA), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"from":"0x%040x","data":"0x63060000005f9052","gas":"0x4a817c800"},"latest"]}`, i+1))
			if _, _, e := answerOf(t, answer); e.Code != 0 && e.Message != "request timed out" && !strings.HasPrefix(e.Message, "heavy calls of this account have used its share") {
				t.Errorf("answered %.200s", answer)
			}
		})
	})
	t.Logf("grew by %d MiB", grown>>20)
	if limit := int64(1 << 30); grown > limit {
		t.Errorf("grew by %d MiB, want at most %d", grown>>20, limit>>20)
	}
}
