package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// outcome is an answer in comparable form. The number is left out: it only counts
// with NodeFault, which the native path never gives.
type outcome struct {
	result string
	code   nodegate.Code
	msg    string
	data   string
}

func outcomeOf(result []byte, err error) outcome {
	if err == nil {
		return outcome{result: string(result)}
	}
	var e *nodegate.Error
	if !errors.As(err, &e) {
		return outcome{code: nodegate.Internal, msg: fmt.Sprintf("not an *Error: %v", err)}
	}
	return outcome{code: e.Code, msg: e.Msg, data: string(e.Data)}
}

func (o outcome) String() string {
	if o.result != "" {
		return o.result
	}
	return fmt.Sprintf("error %q, message %q, data %s", o.code, o.msg, o.data)
}

// differs holds one call against "the same bytes, or handed over" and says what is
// wrong, or "". The second native answer may come from a cache.
func differs(n *Node, r request) (problem string, handled bool) {
	ctx := context.Background()
	result, handled, err := n.native.Answer(ctx, r.method, r.raw())
	if !handled {
		return "", false
	}
	native := outcomeOf(result, err)
	generic := outcomeOf(n.generic(ctx, r.method, r.raw()))
	if native != generic {
		return fmt.Sprintf("%s\nnative:  %s\ngeneric: %s", r, native, generic), true
	}
	if result, _, err = n.native.Answer(ctx, r.method, r.raw()); outcomeOf(result, err) != native {
		return fmt.Sprintf("%s\nfirst:  %s\nsecond: %s", r, native, outcomeOf(result, err)), true
	}
	return "", true
}

// shares of the corpus that the native path must answer itself: a path that hands
// everything over would pass the comparison.
var leastShare = map[string]float64{
	"eth_getStorageAt":                      0.8,
	"eth_getProof":                          0.8,
	"eth_getTransactionByHash":              0.6,
	"eth_getTransactionByBlockHashAndIndex": 0.5,
	"eth_getTransactionReceipt":             0.6,
	"eth_getBlockReceipts":                  0.6,
	"eth_call":                              0.6,
	"eth_estimateGas":                       0.8,
	"eth_blockNumber":                       1,
	"eth_chainId":                           1,
}

func TestNativeEqualsGeneric(t *testing.T) {
	full.Slow(t)
	for _, c := range sharedChains {
		t.Run(c.name, func(t *testing.T) {
			n := shared(t, c.open)
			compareAll(t, n, thinEach(newPools(n).everything(), full.Rounds(1<<30, 800)))
		})
	}
}

func compareAll(t *testing.T, n *Node, corpus []request) {
	asked, answered := map[string]int{}, map[string]int{}
	problems := 0
	for _, r := range corpus {
		problem, handled := differs(n, r)
		asked[r.method]++
		if handled {
			answered[r.method]++
		}
		if problem != "" {
			if problems++; problems <= 20 {
				t.Error(clip(problem))
			}
		}
	}
	t.Logf("%d requests, %d differ; answered natively: %v of %v", len(corpus), problems, answered, asked)
	for method, share := range leastShare {
		if got := float64(answered[method]) / float64(asked[method]); got < share {
			t.Errorf("%s: only %.0f %% of the plain requests were answered natively", method, 100*got)
		}
	}
}

func clip(s string) string {
	const most = 3000
	if len(s) > most {
		return s[:most] + " ..."
	}
	return s
}

// The answers of both paths are JSON, whatever they say.
func TestAnswersAreJSON(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, r := range newPools(n).lookups() {
		result, err := n.Call(t.Context(), r.method, []byte(r.params))
		if err == nil && !json.Valid(result) {
			t.Errorf("%s: %s", r, result)
		}
	}
}

// Answers are shared between callers: asking again must give the bytes it gave
// before, also when others asked in between.
func TestAnswersStayTheSame(t *testing.T) {
	n := shared(t, sharedDevnet)
	list := newPools(n).lookups()
	first := make([][]byte, len(list))
	kept := make([][]byte, len(list))
	for i, r := range list {
		first[i], _ = n.Call(t.Context(), r.method, []byte(r.params))
		kept[i] = bytes.Clone(first[i])
	}
	for i, r := range list {
		if again, _ := n.Call(t.Context(), r.method, []byte(r.params)); !bytes.Equal(again, kept[i]) || !bytes.Equal(first[i], kept[i]) {
			t.Errorf("%s changed", r)
		}
	}
}

// Caches too small to keep anything change the speed of the answers only.
func TestNativeEqualsGenericWithoutMemory(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.AnswerBytes, cfg.StateBytes = 1, 1
	n := openTemp(t, cfg)
	for _, r := range thin(newPools(n).everything(), full.Rounds(3000, 1000)) {
		if problem, _ := differs(n, r); problem != "" {
			t.Error(clip(problem))
		}
	}
}
