package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// roleWrite sends transactions forever and prints each one that has a receipt:
// what a client was told, a crash must not take back.
func roleWrite(dir string) {
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := newSender(n, 0)
	for v := int64(1); ; v++ {
		tx := s.setValue(v)
		raw, _ := tx.MarshalBinary()
		if _, err := n.Call(context.Background(), "eth_sendRawTransaction", []byte(`["`+hexutil.Encode(raw)+`"]`)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(waitAcknowledged(n, tx.Hash()))
	}
}

// roleStay opens a folder, says so and waits for the end.
func roleStay(dir string) {
	if _, err := Open(presetConfig(devchain.Devnet(), dir)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	select {}
}

// TestKilledAfterImport kills a process right after its first start, before any
// transaction has made the database sync.
func TestKilledAfterImport(t *testing.T) {
	for range 3 {
		dir := filepath.Join(t.TempDir(), "chain")
		cmd := child(t, "stay", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
		linesOf(out, func(line string) {
			if line != "open" {
				t.Errorf("the child said %q", line)
			}
			_ = cmd.Process.Kill()
		})
		_ = cmd.Wait()
		timer.Stop()
		n, err := Open(presetConfig(devchain.Devnet(), dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := head(t, n); got != 10 {
			t.Errorf("the head is %d, want 10", got)
		}
		closeNode(t, n)
	}
}

// waitAcknowledged polls for a receipt and returns where the transaction is.
func waitAcknowledged(n *Node, hash common.Hash) string {
	for {
		result, err := n.Call(context.Background(), "eth_getTransactionReceipt", []byte(`["`+hash.Hex()+`"]`))
		var r *receipt
		if err == nil && json.Unmarshal(result, &r) == nil && r != nil {
			return fmt.Sprintf("%d %s %s", r.BlockNumber, r.BlockHash.Hex(), hash.Hex())
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// acknowledged is a line of the writer.
type acknowledged struct {
	number      uint64
	block, hash common.Hash
}

func parseAcknowledged(t *testing.T, line string) (a acknowledged) {
	t.Helper()
	var block, hash string
	if _, err := fmt.Sscanf(line, "%d %s %s", &a.number, &block, &hash); err != nil {
		t.Fatalf("the writer said %q", line)
	}
	a.block, a.hash = common.HexToHash(block), common.HexToHash(hash)
	return a
}

// A writer is killed in the instant in which it acknowledges a transaction, again
// and again on the same folder. Nothing acknowledged is ever lost.
func TestKilledWhileWriting(t *testing.T) {
	full.Slow(t)
	const rounds = 5
	dir := filepath.Join(t.TempDir(), "chain")
	var all []acknowledged
	for range rounds {
		all = append(all, writeAndKill(t, dir, 3+rand.IntN(40))...)
		checkAcknowledged(t, dir, all)
	}
	if len(all) < 3*rounds {
		t.Fatalf("only %d transactions were acknowledged", len(all))
	}
}

// writeAndKill lets a writer run for that many acknowledgements.
func writeAndKill(t *testing.T, dir string, count int) (list []acknowledged) {
	t.Helper()
	cmd := child(t, "write", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	linesOf(out, func(line string) {
		if list = append(list, parseAcknowledged(t, line)); len(list) == count {
			_ = cmd.Process.Kill()
		}
	})
	_ = cmd.Wait()
	return list
}

// checkAcknowledged reopens the folder and looks everything up, on both paths.
func checkAcknowledged(t *testing.T, dir string, all []acknowledged) {
	t.Helper()
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	if err != nil {
		t.Fatal(err)
	}
	defer closeNode(t, n)
	for _, a := range all {
		if got := n.engine.eth.BlockChain().GetCanonicalHash(a.number); got != a.block {
			t.Fatalf("block %d was acknowledged as %s and is %s now; the head is %d", a.number, a.block, got, head(t, n))
		}
		r := request{"eth_getTransactionReceipt", `["` + a.hash.Hex() + `"]`}
		if got := callInto[*receipt](t, n, r.method, r.params); got == nil || got.BlockHash != a.block {
			t.Fatalf("the receipt of %s is %+v", a.hash, got)
		}
		if problem, handled := differs(n, r); problem != "" || !handled {
			t.Fatalf("answered natively: %v; %s", handled, problem)
		}
	}
	if h := head(t, n); callInto[string](t, n, "eth_getStorageAt", `["`+lower(devchain.DemoAddress())+`","0x0","latest"]`) == "" {
		t.Fatalf("no state at the head %d", h)
	}
}

// A first start that is killed before it is complete starts again.
func TestKilledWhileImporting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	killed := 0
	for i := range 6 {
		cmd := child(t, "write", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*40) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if !imported(dir) {
			killed++
		}
	}
	t.Logf("%d of 6 starts were killed before they were complete", killed)
	n := openTemp(t, presetConfig(devchain.Devnet(), dir))
	if h := head(t, n); h < 10 {
		t.Errorf("the head is block %d", h)
	}
	// What a killed start acknowledged is in the journal and gets a block now. A head
	// that moves between two questions makes both answers right and different.
	eventually(t, "transactions of the journal wait for a block", func() bool {
		return n.engine.producer.executable() == 0 && head(t, n) == n.engine.eth.BlockChain().CurrentBlock().Number.Uint64()
	})
	checkNine(t, n)
}
