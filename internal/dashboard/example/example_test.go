package example

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// hostile answers whatever a test says; nothing that a node says may be trusted.
type hostile struct{ block string }

func (h hostile) Call(_ context.Context, method string, _ []byte) ([]byte, error) {
	if method == "eth_getBlockByNumber" {
		return []byte(h.block), nil
	}
	return nil, errors.New("no")
}

func (hostile) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{Number: 3}, nil }

// Whatever a node says, the examples are parameters: JSON arrays with nothing of the
// node's in them but hex.
func TestHostileNodes(t *testing.T) {
	good := `"0x` + strings.Repeat("ab", 32) + `"`
	for name, block := range map[string]string{
		"nothing": `null`, "no JSON": `{`, "no transactions": `{"transactions":[]}`, "hashes only": `{"transactions":[` + good + `]}`,
		"markup":       `{"transactions":[{"hash":"<script>","blockHash":"\"],[\"","from":"x"}]}`,
		"a quote":      `{"transactions":[{"hash":` + good + `,"blockHash":` + good + `,"from":"0x` + strings.Repeat("11", 20) + `","to":"0x\"","transactionIndex":"0x\"zz","input":"0x\"]"}]}`,
		"a huge input": `{"transactions":[{"hash":` + good + `,"blockHash":` + good + `,"from":"0x` + strings.Repeat("11", 20) + `","to":"0x` + strings.Repeat("22", 20) + `","transactionIndex":"0x1","input":"0x` + strings.Repeat("00", 1<<20) + `"}]}`,
	} {
		list := New().Of(t.Context(), nodegate.Network{Name: "x", Node: hostile{block}})
		if len(list) < 10 {
			t.Errorf("%s: %d examples", name, len(list))
		}
		for _, e := range list {
			var params []any
			if err := json.Unmarshal([]byte(e.Params), &params); err != nil || strings.ContainsAny(e.Params, `<>\`) || len(e.Params) > 4096 {
				t.Errorf("%s: %s %s: %v", name, e.Method, e.Params, err)
			}
		}
	}
}

// Examples are looked for once in a while, not for each page.
func TestRemembers(t *testing.T) {
	e, asked := New(), &counting{}
	for range 5 {
		e.Of(t.Context(), nodegate.Network{Name: "x", Node: asked})
	}
	if asked.heads != 1 {
		t.Errorf("the node was asked %d times", asked.heads)
	}
}

type counting struct {
	hostile
	heads int
}

func (c *counting) Head(ctx context.Context) (nodegate.Head, error) {
	c.heads++
	return c.hostile.Head(ctx)
}
