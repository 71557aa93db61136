package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	well := Report{ChainID: 1, Genesis: "0xg", Head: 1000, State: Depth{Blocks: 127}, Logs: 1001}
	for _, c := range []struct {
		name    string
		change  func(*Report)
		problem bool
		want    string
	}{
		{"well", func(*Report) {}, false, ""},
		{"syncing", func(r *Report) { r.Syncing = true }, true, "is syncing"},
		{"behind", func(r *Report) { r.Head, r.Lag = 990, 10 }, true, "is 10 blocks behind"},
		{"a little behind", func(r *Report) { r.Head, r.Lag = 995, 5 }, false, ""},
		{"another first block", func(r *Report) { r.Genesis = "0xh" }, true, "has a different genesis block"},
		{"no events", func(r *Report) { r.Events = errors.New("closed") }, true, "has no subscriptions over its ws: closed"},
		{"slow", func(r *Report) { r.P50 = time.Second }, false, "is slow"},
		{"narrow logs", func(r *Report) { r.Logs = 100 }, false, "answers eth_getLogs over 100 blocks at most"},
		{"little state", func(r *Report) { r.State.Blocks = 1 }, true, "has state of the newest 1 blocks only"},
		{"a namespace that is on", func(r *Report) { r.Missing = []string{"debug_traceTransaction"} }, true, "does not offer debug_traceTransaction"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reports := []Report{well, well, well}
			for i, name := range []string{"a", "b", "c"} {
				reports[i].Node = name
			}
			c.change(&reports[1])
			n := &Network{MaxLag: 5, LogBlocks: 10_000, Namespaces: []string{"debug"}, Nodes: []Node{{Name: "a", WS: "ws://x"}, {Name: "b", WS: "ws://x"}, {Name: "c"}}}
			var said []Finding
			for _, f := range judge(n, reports) {
				if f.Node != "" {
					said = append(said, f)
				}
			}
			switch {
			case c.want == "" && len(said) == 0:
			case len(said) != 1 || said[0].Node != "b" || said[0].Problem != c.problem || !strings.Contains(said[0].Text, c.want) || c.want == "":
				t.Errorf("it says %+v, want %q", said, c.want)
			}
		})
	}
}

// TestText: what a node calls itself can't act upon a terminal.
func TestText(t *testing.T) {
	if got := text([]byte("\"Geth/v1 \x1b[31mé\"")); strings.ContainsAny(got, "\x1b\"") {
		t.Errorf("got %q", got)
	}
	if got := text([]byte(`"` + strings.Repeat("x", 5000) + `"`)); len(got) > 100 {
		t.Errorf("%d characters", len(got))
	}
	if got := text([]byte(`{}`)); got != "" {
		t.Errorf("an object is %q", got)
	}
}
