package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// receiptOf is a receipt of a block of the made-up chain.
func receiptOf(block uint64, index int) string {
	return fmt.Sprintf(`{"blockHash":"0x%064x","transactionHash":"0x%062x%02x"}`, block, block, index)
}

// receiptsOf has two receipts in even blocks, and none in others.
func receiptsOf(_ context.Context, _ *heads.Node, block uint64, _ string) ([]byte, error) {
	if block%2 == 1 {
		return []byte("[]"), nil
	}
	return []byte("[" + receiptOf(block, 0) + "," + receiptOf(block, 1) + "]"), nil
}

// TestReceipts: each block's receipts are one event, those that were asked for, and a block
// without any is none.
func TestReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, report := quiet(t)
		asked := 0
		f.cfg.Receipts = func(ctx context.Context, n *heads.Node, block uint64, params string) ([]byte, error) {
			asked++
			if want := fmt.Sprintf(`["0x%064x"]`, block); params != want {
				t.Errorf("asked for %s, want %s", params, want)
			}
			return receiptsOf(ctx, n, block, params)
		}
		all := subscribe(t, t.Context(), f, `["transactionReceipts"]`)
		again := subscribe(t, t.Context(), f, `["transactionReceipts",null]`)
		one := subscribe(t, t.Context(), f, fmt.Sprintf(`["transactionReceipts",{"transactionHashes":["0x%062X01"]}]`, 104))
		for number := uint64(101); number <= 104; number++ {
			report(number)
			synctest.Wait()
		}
		want := "[" + receiptOf(102, 0) + "," + receiptOf(102, 1) + "] [" + receiptOf(104, 0) + "," + receiptOf(104, 1) + "]"
		for i, c := range []<-chan []byte{all, again} {
			if got := strings.Join(collect(c), " "); got != want {
				t.Errorf("reader %d got %s", i, got)
			}
		}
		if got := strings.Join(collect(one), " "); got != "["+receiptOf(104, 1)+"]" {
			t.Errorf("with a filter: %s", got)
		}
		if asked != 4 {
			t.Errorf("%d requests for 4 blocks", asked)
		}
	})
}

// TestReceiptsRetry: receipts of another block, and errors, are asked for again. When no node
// has them, the subscription ends, since a later block must not hide the gap.
func TestReceiptsRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, report := quiet(t)
		tries := 0
		f.cfg.Receipts = func(ctx context.Context, n *heads.Node, block uint64, params string) ([]byte, error) {
			switch tries++; {
			case block == 104:
				return nil, errors.New("no such method")
			case tries == 1:
				return nil, errors.New("busy")
			case tries == 2:
				return []byte("[" + receiptOf(7, 0) + "]"), nil
			}
			return receiptsOf(ctx, n, block, params)
		}
		c := subscribe(t, t.Context(), f, `["transactionReceipts"]`)
		report(101)
		synctest.Wait()
		report(102)
		time.Sleep(stepTries * followPause)
		synctest.Wait()
		if got := strings.Join(collect(c), " "); got != "["+receiptOf(102, 0)+","+receiptOf(102, 1)+"]" {
			t.Errorf("after errors: %s", got)
		}
		report(103)
		synctest.Wait()
		report(104)
		time.Sleep(2 * stepTries * followPause)
		synctest.Wait()
		if got := collect(c); len(got) != 1 || got[0] != "lost" {
			t.Errorf("without receipts: %v", got)
		}
	})
}

func TestReceiptsFilter(t *testing.T) {
	many := strings.Repeat(`"0x`+strings.Repeat("0", 64)+`",`, maxHashes+1)
	for name, params := range map[string]string{
		"no object": `["transactionReceipts",5]`,
		"no hash":   `["transactionReceipts",{"transactionHashes":["0x12"]}]`,
		"too many":  `["transactionReceipts",{"transactionHashes":[` + many[:len(many)-1] + `]}]`,
	} {
		if _, err := newStream([]byte(params)); err == nil || !strings.Contains(err.Error(), "invalid argument 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
