package eth

import (
	"context"
	"testing"

	"github.com/nodegate/nodegate"
)

// formed is a layer below that may have given an answer its form.
type formed struct {
	answer string
	yes    bool
}

func (f formed) Call(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	t := nodegate.TraceFrom(ctx)
	t.Formed, t.Verified, t.Agreed = f.yes, nodegate.LevelRoots, 1
	return []byte(f.answer), nil
}

func (formed) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

// TestFormed: an answer that has its form is passed on as it is, and any other is put into
// it. What is known about one of several calls is not said about what was made of them.
func TestFormed(t *testing.T) {
	receipt := `{"transactionHash":"` + someHash + `","gasUsed":"0x05"}`
	for _, c := range []struct {
		name        string
		yes, traced bool
		asIs        bool
		verified    nodegate.Level
	}{
		{"eth_getTransactionReceipt", true, true, true, nodegate.LevelRoots},
		{"eth_getTransactionReceipt", false, true, false, nodegate.LevelRoots},
		{"eth_getTransactionReceipt", true, false, false, nodegate.LevelNone}, // nobody says so
		{"eth_getFilterChanges", true, true, true, nodegate.LevelNone},
	} {
		ctx, trace := t.Context(), &nodegate.Trace{}
		if c.traced {
			ctx = nodegate.WithTrace(ctx, trace)
		}
		got, err := remote{formed{receipt, c.yes}}.Call(ctx, c.name, []byte(`["`+someHash+`"]`))
		if err != nil || (string(got) == receipt) != c.asIs || trace.Verified != c.verified {
			t.Errorf("%+v: %s, %v, %+v", c, got, err, trace)
		}
	}
}
