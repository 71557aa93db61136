package nodes_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/dbtest"
)

// lieMark is in every lie, and in nothing else.
const lieMark = "0x5eed5eed"

// startLiar stands before a node and lies: about values of transactions, roots of blocks and
// gas in receipts of blocks.
func startLiar(t *testing.T, to string) (url string, told *atomic.Int64) {
	t.Helper()
	told = new(atomic.Int64)
	value := regexp.MustCompile(`"(value|cumulativeGasUsed)":"0x[0-9a-f]+"`)
	root := regexp.MustCompile(`"stateRoot":"0x[0-9a-f]{8}`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		resp, err := http.Post(to, "application/json", bytes.NewReader(body))
		if err != nil {
			http.Error(w, "next", http.StatusBadGateway)
			return
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Contains(body, []byte(`"latest"`)) && bytes.Contains(body, []byte(`"eth_get`)) {
			lie := value.ReplaceAll(answer, []byte(`"$1":"`+lieMark+`"`))
			lie = root.ReplaceAll(lie, []byte(`"stateRoot":"`+lieMark))
			if !bytes.Equal(lie, answer) {
				told.Add(1)
				answer = lie
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, told
}

// redisCount runs a script that returns a number.
func redisCount(t *testing.T, addr, script string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(c, "EVAL \"%s\" 0\r\n", script); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || line[0] != ':' {
		t.Fatalf("Redis says %q, %v", line, err)
	}
	return strings.TrimSpace(line[1:])
}

// TestLiarAndSharedCache is row 58 over three servers that share a cache: no client gets a lie
// of one of three nodes, and none is in the cache.
func TestLiarAndSharedCache(t *testing.T) {
	redis := dbtest.Redis(t)
	chain := miner(t)
	direct := chain.URL("dev", key)
	liar, told := startLiar(t, direct)
	other, _ := countBalances(t, direct, "nobody")
	third, _ := countBalances(t, direct, "nobody")
	var servers [3]*front
	for i := range servers {
		servers[i] = startFront(t, fmt.Sprintf("redis: {url: %q}\nnetworks:\n", "redis://"+redis.Addr)+network("main", "", liar, other, third))
	}
	for _, s := range servers {
		s.ready(t)
	}
	wrong := 0
	for i := range 10 {
		for _, call := range [][2]string{
			{"eth_getBlockByNumber", fmt.Sprintf(`["0x%x",false]`, i)}, {"eth_getBlockByNumber", fmt.Sprintf(`["0x%x",true]`, i)},
			{"eth_getBlockReceipts", fmt.Sprintf(`["0x%x"]`, i)}, {"eth_getTransactionByBlockNumberAndIndex", fmt.Sprintf(`["0x%x","0x0"]`, i)},
		} {
			want := chain.call(t, "dev", call[0], call[1])
			for _, s := range servers {
				if got := s.call(t, "main", call[0], call[1]); got.result != want.result || strings.Contains(got.result, lieMark) {
					wrong++
				}
			}
		}
	}
	if wrong > 0 || told.Load() == 0 {
		t.Errorf("%d of 120 answers are wrong; %d lies were told", wrong, told.Load())
	}
	untilKept(t, redis.Addr)
	const script = "local n = 0 for _, k in ipairs(redis.call('keys', 'nodegate:answer:*')) do " +
		"if string.find(redis.call('get', k), '" + lieMark + "', 1, true) then n = n + 1 end end return n"
	kept := redisCount(t, redis.Addr, script)
	if kept != "0" {
		t.Errorf("%s false answers are in the shared cache", kept)
	}
	row(t, 58, "%d of 120 answers wrong over three servers, %d lies told, %s in the shared cache", wrong, told.Load(), kept)
	if n := redisCount(t, redis.Addr, "return #redis.call('keys', 'nodegate:answer:*')"); n == "0" {
		t.Error("the shared cache is empty: the test shows nothing")
	}
}
