package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/config"
)

// bodyLimit is the largest request: 5 MiB.
const bodyLimit = 5 << 20

// repeated is a batch of the same element.
func repeated(element string, count int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", count), ",") + "]"
}

// TestBatchSize has the edge of the largest batch: 1,000 elements, whatever they are.
func TestBatchSize(t *testing.T) {
	tooLarge := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`
	notification := `{"jsonrpc":"2.0","method":"eth_chainId"}`
	for _, c := range []struct{ name, body, want string }{
		{"1", repeated(chainID, 1), repeated(chainIDAnswer, 1)},
		{"1000", repeated(chainID, 1000), repeated(chainIDAnswer, 1000)},
		{"1001", repeated(chainID, 1001), tooLarge},
		{"1001 notifications", repeated(notification, 1001), tooLarge},
		{"1001 of junk", repeated("1", 1001), tooLarge},
		{"1000 nested", repeated("[]", 1000), repeated(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`, 1000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, shared(t), "devnet", c.body, func(t *testing.T, answer string) {
				if answer != c.want {
					t.Errorf("answered %.200s (%d bytes), want %.200s", answer, len(answer), c.want)
				}
			})
		})
	}
}

// TestBatchOrder sends 1,000 different calls and wants their answers in order.
func TestBatchOrder(t *testing.T) {
	var ask, want []string
	for i := range 1000 {
		if i%2 == 0 {
			ask = append(ask, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_blockNumber"}`, i))
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"0xa"}`, i))
			continue
		}
		ask = append(ask, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"net_version"}`, i))
		want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","result":"1337"}`, i))
	}
	both(t, shared(t), "devnet", "["+strings.Join(ask, ",")+"]", func(t *testing.T, answer string) {
		if answer != "["+strings.Join(want, ",")+"]" {
			t.Errorf("out of order: %.300s", answer)
		}
	})
}

// TestBodySize fills a body with spaces up to the limit and past it.
func TestBodySize(t *testing.T) {
	s := shared(t)
	fits := chainID + strings.Repeat(" ", bodyLimit-len(chainID))
	both(t, s, "devnet", fits, func(t *testing.T, answer string) {
		if answer != chainIDAnswer {
			t.Errorf("answered %.200s", answer)
		}
	})
	status, body := post(t, s.url("devnet", keyA), fits+" ")
	if _, _, e := answerOf(t, body); status != http.StatusRequestEntityTooLarge || e.Code != -32600 {
		t.Errorf("one byte more: %d %s", status, body)
	}
	c := dial(t, s.ws("devnet", keyA))
	write(t, c, fits+" ")
	if got := closeStatus(t, c); got != websocket.StatusMessageTooBig {
		t.Errorf("one byte more closes the socket with %d, want 1009", got)
	}
}

// TestNotText sends bodies that a text file can't hold.
func TestNotText(t *testing.T) {
	parseError := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`
	for name, body := range map[string]string{
		"empty":          "",
		"spaces":         " \t\r\n ",
		"no UTF-8":       "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"eth_chainId\"}",
		"overlong UTF-8": "{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xaf\",\"method\":\"eth_chainId\"}",
		"byte order":     "\xef\xbb\xbf" + chainID,
		"NUL":            chainID + "\x00",
		"line in string": "{\"jsonrpc\":\"2.0\",\"id\":\"\n\",\"method\":\"eth_chainId\"}",
	} {
		t.Run(name, func(t *testing.T) {
			both(t, shared(t), "devnet", body, func(t *testing.T, answer string) {
				if answer != parseError {
					t.Errorf("answered %s", answer)
				}
			})
		})
	}
}

// TestProofKeys asks for as many keys as allowed, and for one more.
func TestProofKeys(t *testing.T) {
	ask := func(n int) string {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"0x%x"`, i)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getProof","params":["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",[%s],"latest"]}`, strings.Join(keys, ","))
	}
	s := shared(t)
	both(t, s, "devnet", ask(1024), func(t *testing.T, answer string) {
		_, result, _ := answerOf(t, answer)
		var proof struct{ StorageProof []struct{ Key, Value string } }
		if err := json.Unmarshal([]byte(result), &proof); err != nil || len(proof.StorageProof) != 1024 {
			t.Fatalf("%d proofs (%v), want 1024", len(proof.StorageProof), err)
		}
		if first, last := proof.StorageProof[0], proof.StorageProof[1023]; first.Value != "0x2a" || last.Key != "0x3ff" || last.Value != "0x0" {
			t.Errorf("the first is %v, the last %v", first, last)
		}
	})
	both(t, s, "devnet", ask(1025), func(t *testing.T, answer string) {
		if _, _, e := answerOf(t, answer); e.Code != -32602 || e.Message != "too many storage keys requested (max 1024, got 1025)" {
			t.Errorf("answered %.200s", answer)
		}
	})
}

// small is a server whose limits a test can reach.
func small(t *testing.T) *service {
	return start(t, func(c *config.Config) {
		c.Limits.BatchItems, c.Limits.ResponseBytes, c.Limits.SubscriptionsPerConn = 20, 32<<10, 2
		c.Limits.LogBlocks, c.Limits.LogResults, c.Limits.CallTimeout = 5, 3, 400*time.Millisecond
	})
}

// TestAnswerSize crosses the limit of a whole answer: the element that crosses it
// is still sent, the rest are refused one by one, and notifications don't count.
func TestAnswerSize(t *testing.T) {
	const receipts = `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["latest"]}`
	s := small(t)
	_, one := post(t, s.url("devnet", keyA), receipts)
	fit := 32<<10/(len(one)+1) + 1 // the last of these crosses the limit
	tail := `{"jsonrpc":"2.0","id":"tail","method":"eth_chainId"}`
	body := "[" + strings.Repeat(receipts+",", fit) + `{"jsonrpc":"2.0","method":"eth_chainId"},` + tail + "," + tail + "]"
	refused := `{"jsonrpc":"2.0","id":"tail","error":{"code":-32045,"message":"response too large"}}`
	want := "[" + strings.Repeat(one+",", fit) + refused + "," + refused + "]"
	both(t, s, "devnet", body, func(t *testing.T, answer string) {
		if answer != want {
			t.Errorf("answered %d bytes, want %d; the end is %.300s", len(answer), len(want), answer[max(0, len(answer)-300):])
		}
	})
}

// TestLogLimits wants each refusal to name a range that works.
func TestLogLimits(t *testing.T) {
	s := small(t)
	for _, c := range []struct{ name, from, to, start string }{
		{"blocks", "0x1", "0x9", "query spans more than 5 blocks"},
		{"blocks to the head", "0x1", "latest", "query spans more than 5 blocks"},
		{"results", "0x6", "0xa", "query returns more than 3 results"},
	} {
		t.Run(c.name, func(t *testing.T) {
			query := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":%q,"toBlock":%q}]}`, c.from, c.to)
			both(t, s, "devnet", query, func(t *testing.T, answer string) {
				_, _, e := answerOf(t, answer)
				if e.Code != -32602 || !strings.HasPrefix(e.Message, c.start) {
					t.Fatalf("answered %.300s", answer)
				}
				var from, to string
				hint := e.Message[strings.Index(e.Message, "try "):]
				if _, err := fmt.Sscanf(strings.ReplaceAll(hint, ",", ""), "try fromBlock %s toBlock %s", &from, &to); err != nil {
					t.Fatalf("no range in %q: %v", e.Message, err)
				}
				call(t, s.url("devnet", keyA), "eth_getLogs", fmt.Sprintf(`[{"fromBlock":%q,"toBlock":%q}]`, from, to))
			})
		})
	}
}

// TestCallTimeout runs an endless loop, by each of the two ways a call is executed.
func TestCallTimeout(t *testing.T) {
	s := small(t)
	for _, block := range []string{"latest", "pending"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[%s,%q]}`, endlessCall, block)
		both(t, s, "rollup", body, func(t *testing.T, answer string) {
			if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"request timed out"}}`; answer != want {
				t.Errorf("answered %s", answer)
			}
		})
	}
}

// endlessCall is the demo contract's spin() with all the gas that rollup allows:
// time runs out long before the gas does.
const endlessCall = `{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0xf0acd7d5","gas":"0x4a817c800"}`
