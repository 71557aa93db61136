package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestSubscribeBeforeLock: what is refused doesn't wait for go-ethereum's subscriptions, nor do
// others wait for it. An account that reads as many streams as it may is refused before its
// filter is checked.
func TestSubscribeBeforeLock(t *testing.T) {
	n := openDevnet(t)
	account := nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "a"})
	for i := range maxStreamsPerAccount {
		mustDo(t, n.Subscribe(account, fmt.Appendf(nil, `["logs",{"fromBlock":"0x%x"}]`, i+100), func([]byte, nodegate.End) {}))
	}
	n.feeds.opening.Lock()
	defer n.feeds.opening.Unlock()
	for name, c := range map[string]struct {
		ctx    context.Context
		params string
		want   nodegate.Code
	}{
		"a filter that go-ethereum refuses": {t.Context(), `["logs",{"fromBlock":"pending"}]`, nodegate.InvalidParams},
		"one stream too many":               {account, `["logs",{"fromBlock":"0x1"}]`, nodegate.AccountBusy},
		"both":                              {account, `["logs",{"fromBlock":"pending"}]`, nodegate.AccountBusy},
	} {
		refused := make(chan error, 1)
		go func() { refused <- n.Subscribe(c.ctx, []byte(c.params), func([]byte, nodegate.End) {}) }()
		select {
		case err := <-refused:
			wantCode(t, err, c.want)
		case <-time.After(patience):
			t.Errorf("%s: it waits for the lock", name)
		}
	}
	// A stream that the account reads already is no further one.
	mustDo(t, n.Subscribe(account, []byte(`["logs",{"fromBlock":"0x64"}]`), func([]byte, nodegate.End) {}))
}

// TestBriefFilter: go-ethereum says of the brief form of a filter what it says of the whole, and
// a large filter that it accepts is not read again.
func TestBriefFilter(t *testing.T) {
	n := shared(t, sharedDevnet)
	addresses := func(n int) string {
		return "[" + strings.Repeat(`"0x00000000000000000000000000000000000000aa",`, n-1) + `"0x00000000000000000000000000000000000000ab"]`
	}
	topics := func(n int) string {
		one := `"0x` + strings.Repeat("ab", 32) + `"`
		return "[" + strings.Repeat(one+",", n-1) + one + "]"
	}
	for _, text := range []string{
		`{}`, `{"fromBlock":"pending"}`, `{"toBlock":"pending"}`, `{"fromBlock":"latest","toBlock":"latest"}`, `{"fromBlock":"earliest"}`,
		`{"toBlock":"earliest"}`, `{"fromBlock":"safe"}`, `{"toBlock":"finalized"}`, `{"fromBlock":"0x5","toBlock":"0x3"}`, `{"fromBlock":"0x0"}`,
		`{"fromBlock":"0x7fffffffffffffff"}`, `{"fromBlock":"latest","toBlock":"0x5"}`, `{"blockHash":` + strings.Trim(topics(1), "[]") + `}`,
		`{"address":` + addresses(1000) + `}`, `{"address":` + addresses(1001) + `}`, `{"topics":[null,` + topics(900) + `]}`, `{"topics":[` + topics(1001) + `]}`,
		`{"topics":[[],null,null,null]}`,
	} {
		filter := readLogFilter(text)
		if filter == nil {
			continue // it is no filter, and is shown to go-ethereum as it is
		}
		whole := n.feeds.check(t.Context(), []any{"logs", json.RawMessage(text)})
		if filter.brief == nil {
			if whole == nil {
				t.Errorf("%.60s is accepted, and read again", text)
			}
			continue
		}
		if brief := n.feeds.check(t.Context(), filter.brief); fmt.Sprint(brief) != fmt.Sprint(whole) {
			t.Errorf("%.60s: %v, its brief form %s: %v", text, whole, filter.brief[1], brief)
		}
		if size := len(filter.brief[1].(json.RawMessage)); size > 100 {
			t.Errorf("%.60s: %d bytes are read again", text, size)
		}
	}
}

// TestLargeFiltersTakeTurns: a small filter doesn't wait for large ones.
func TestLargeFiltersTakeTurns(t *testing.T) {
	n := openDevnet(t)
	large := `["logs",{"topics":[["0x` + strings.Repeat("ab", 32) + `"` + strings.Repeat(`,"0x`+strings.Repeat("cd", 32)+`"`, 200) + `]]}]`
	n.feeds.large.Lock()
	begun := make(chan error, 1)
	go func() { begun <- n.Subscribe(t.Context(), []byte(large), func([]byte, nodegate.End) {}) }()
	mustDo(t, n.Subscribe(t.Context(), []byte(`["logs",{}]`), func([]byte, nodegate.End) {}))
	select {
	case err := <-begun:
		t.Errorf("a large filter is read beside another: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	n.feeds.large.Unlock()
	mustDo(t, <-begun)
}
