package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const bodyLimit = 5 << 20 // limits.body_bytes

// postHead is the head of a call with a body of so many bytes.
func postHead(key string, size int) string {
	return fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", key, size)
}

// TestUnfinishedBodies is row 41: connections that send all of the largest body but its
// last byte, of one free account and of several.
func TestUnfinishedBodies(t *testing.T) {
	for _, accounts := range []int{1, 8} {
		t.Run(fmt.Sprint(accounts), func(t *testing.T) { unfinishedBodies(t, accounts) })
	}
}

func unfinishedBodies(t *testing.T, accounts int) {
	connections := length(80, 1000)
	o := begin(t, 41, fmt.Sprintf("%d connections of %d free accounts send 5 MiB - 1 and wait, in 1 GiB", connections, accounts),
		"alive, RSS <= 600 MB, held <= 15 s, 429 or 503 with Retry-After beyond the budget, honest p99 <= 2x")
	b := newSandbox(t)
	if !b.inCgroup(1 << 30) {
		o.skip(t, "no control group can be made here")
	}
	p := b.start()
	var keys []string
	for i := range accounts {
		email := fmt.Sprintf("hostile-%d@example.com", i)
		b.account(email, "free")
		key, _ := b.newKey(email)
		keys = append(keys, key)
	}
	unfinished := group{Clients: connections, Body: text{Repeat: " ", Times: bodyLimit - 1}}
	for _, key := range keys {
		unfinished.Heads = append(unfinished.Heads, postHead(key, bodyLimit))
	}
	attack := mob{strings.TrimPrefix(p.rpcBase, "http://"), []group{unfinished}}
	during := time.Duration(length(2, 12)) * time.Second
	o.contest(t, func() (string, bool) {
		alone := p.innocent("devnet", p.key, 50, during/2)
		var beside figures
		var saw mobbed
		highest := p.highest(func() {
			crowd := newAttacker(t, crowdEnv, attack)
			beside = p.innocent("devnet", p.key, 50, during)
			if length(0, 1) == 1 {
				crowd.wait(&saw) // until the server has closed all of them
			} else {
				crowd.leave(&saw)
			}
		})
		p.givenBack(t)
		if saw.refused() == 0 || saw.NoRetry > 0 || beside.Failed > 0 || highest > 600_000_000 {
			t.Errorf("answers by status %v, %d refusals without Retry-After, %d honest requests failed, RSS %d MB", saw.Statuses, saw.NoRetry, beside.Failed, highest/1e6)
		}
		return fmt.Sprintf("RSS %d MB, held %v at most, %d answered 429 or 503; honest %v, alone %v", highest/1e6, saw.Longest.Round(100*time.Millisecond), saw.refused(), beside, alone),
			saw.Longest <= 15*time.Second && beside.P99 <= 2*alone.P99
	})
}

// largeAnswer is a call that is answered with 9.8 MB: a contract that returns all of its
// memory.
func largeAnswer() []byte {
	const contract = "0x00000000000000000000000000000000000000c0"
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"%[1]s","gas":"0x2faf080"},"latest",{"%[1]s":{"code":"0x624b00006000f3"}}]}`, contract)
}

// TestUnreadAnswers is a part of row 42: large answers that nobody reads, and parameters
// by the million.
func TestUnreadAnswers(t *testing.T) {
	unread, large := length(20, 120), length(2, 10)
	o := begin(t, 42, fmt.Sprintf("%d answers of 9.8 MB unread, %d calls with 2.6 M parameters", unread, large),
		"RSS <= 1 GiB, refused beyond the budget, given back, honest p99 <= 2x")
	b := newSandbox(t)
	p := b.start()
	b.account("hostile@example.com", "free")
	key, _ := b.newKey("hostile@example.com")
	call := largeAnswer()
	if size := p.answerSize(t, key, call); size < 9_500_000 {
		t.Fatalf("the answer has %d bytes only", size)
	}
	params := text{`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[`, "1,", 2_600_000 - 1, `1]}`}
	loudly := strings.Replace(postHead(key, len(params.String())), "Host: x\r\n", "Host: x\r\nConnection: close\r\n", 1)
	attack := mob{strings.TrimPrefix(p.rpcBase, "http://"), []group{
		{Clients: unread, Heads: []string{postHead(key, len(call))}, Body: text{End: string(call)}, Silent: true},
		{Clients: large, Heads: []string{loudly}, Body: params},
	}}
	during := time.Duration(length(2, 15)) * time.Second
	o.contest(t, func() (string, bool) {
		alone := p.innocent("devnet", p.key, 50, during/2)
		var beside figures
		var saw mobbed
		highest := p.highest(func() {
			crowd := newAttacker(t, crowdEnv, attack)
			beside = p.innocent("devnet", p.key, 50, during)
			crowd.leave(&saw)
		})
		p.givenBack(t)
		if beside.Failed > 0 || highest > 1<<30 || saw.Failed > 0 {
			t.Errorf("%d honest requests failed, %d clients could not connect, RSS %d MB", beside.Failed, saw.Failed, highest/1e6)
		}
		return fmt.Sprintf("RSS %d MB; parameters answered %v in %v at most; honest %v, alone %v", highest/1e6, saw.Statuses, saw.Longest.Round(time.Millisecond), beside, alone),
			beside.P99 <= 2*alone.P99
	})
}
