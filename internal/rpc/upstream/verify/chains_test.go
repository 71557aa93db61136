package verify

import (
	"bytes"
	"os"
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// TestChains checks answers about real blocks and transactions of public chains. plain ones
// hash as Ethereum's do. Those with their chain's own rules are found, so that a second node
// is asked, and pass once it agrees.
func TestChains(t *testing.T) {
	data, err := os.ReadFile("testdata/chains.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		parts := bytes.SplitN(bytes.TrimSpace(line), []byte(" "), 4)
		chain, form, name, result := string(parts[0]), string(parts[1]), string(parts[2]), parts[3]
		a := &Ask{Row: method.Of(name), Params: []byte(`[{}]`)}
		if bytes.Contains(result, []byte(`"transactions":[{`)) {
			a.Params = []byte(`["0x1",true]`)
		}
		c := New("")
		_, f := c.Check(a, result)
		switch {
		case form == "plain" && f != nil:
			t.Errorf("%s %s: %v", chain, name, f)
		case form == "own" && (f == nil || f.Kind == Identity || !f.Agrees(f)):
			t.Errorf("%s %s: %v", chain, name, f)
		case form == "own" && (!c.Except(f) || again(c, a, result) != nil):
			t.Errorf("%s %s is still found: %v", chain, name, again(c, a, result))
		}
	}
}

func again(c *Checker, a *Ask, result []byte) *Finding {
	_, f := c.Check(a, result)
	return f
}

// TestStacks: what the setting of a network says is not checked.
func TestStacks(t *testing.T) {
	tx := []byte(`{"hash":"0x` + string(bytes.Repeat([]byte("ab"), 32)) + `","type":"0x6a","blockHash":null,"blockNumber":null,"transactionIndex":null}`)
	a := &Ask{Row: method.Of("eth_getTransactionByHash"), Params: []byte(`[]`)}
	if f := again(New("arbitrum"), a, tx); f != nil {
		t.Errorf("arbitrum: %v", f)
	}
	for _, stack := range []string{"", "op", "linea", "scroll", "zksync"} {
		if again(New(stack), a, tx) == nil {
			t.Errorf("%q has Arbitrum's types", stack)
		}
	}
}
