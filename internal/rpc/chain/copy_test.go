package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// restoreCopy makes a folder of a copy, as a restored backup has it.
func restoreCopy(t *testing.T, r io.Reader) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "restored")
	files := map[string]*bytes.Buffer{}
	for copied := NewCopyReader(r); ; {
		name, data, err := copied.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[name] == nil {
			files[name] = new(bytes.Buffer)
		}
		files[name].Write(data)
	}
	for name, data := range files {
		if name == KeyValues {
			if err := RestoreKeyValues(dir, data); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// freezeOld moves final blocks to the store of old ones, as go-ethereum does once a minute.
func freezeOld(t *testing.T, n *Node) uint64 {
	t.Helper()
	db := n.engine.eth.ChainDb()
	inner := reflect.ValueOf(db).Elem().FieldByName("Database").Interface() // go-ethereum's node wraps it
	if err := inner.(interface{ Freeze() error }).Freeze(); err != nil {
		t.Fatal(err)
	}
	old, err := db.Ancients()
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestCopy copies a chain while blocks are sealed and old ones are moved. The copy opens,
// with every block and transaction that was acknowledged before, mined or not.
func TestCopy(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	s := newSender(n, 0)
	var sent []common.Hash
	for v := range int64(40) {
		hash := send(t, n, s.setValue(v))
		mined(t, n, hash)
		sent = append(sent, hash)
	}
	if freezeOld(t, n) == 0 {
		t.Fatal("no old blocks: the test is of no use")
	}
	s.nonce++ // without the one before, a transaction waits wherever it is
	waiting := send(t, n, s.setValue(1000))
	last := head(t, n)

	// The first write comes after everything was captured. From then on the chain goes on.
	var copied bytes.Buffer
	err := Copy(t.Context(), n, writerFunc(func(b []byte) (int, error) {
		if copied.Len() == 0 {
			call(t, n, "hardhat_mine", `["0x28"]`)
			freezeOld(t, n)
		}
		return copied.Write(b)
	}))
	if err != nil {
		t.Fatal(err)
	}
	restored := openTemp(t, presetConfig(devchain.Devnet(), restoreCopy(t, &copied)))
	if got := head(t, restored); got != last {
		t.Errorf("the head is %d, want %d", got, last)
	}
	for _, hash := range sent {
		params := `["` + hash.Hex() + `"]`
		if got, want := call(t, restored, "eth_getTransactionReceipt", params), call(t, n, "eth_getTransactionReceipt", params); got != want {
			t.Errorf("receipt %s, want %s", got, want)
		}
	}
	for number := range last + 1 {
		params := fmt.Sprintf(`["0x%x",true]`, number)
		if got, want := call(t, restored, "eth_getBlockByNumber", params), call(t, n, "eth_getBlockByNumber", params); got != want {
			t.Errorf("block %d: %s, want %s", number, got, want)
		}
	}
	if got := call(t, restored, "eth_getTransactionByHash", `["`+waiting.Hex()+`"]`); !strings.Contains(got, `"blockHash":null`) {
		t.Errorf("the transaction that waits: %s", got)
	}
	s.nonce -= 2
	send(t, restored, s.setValue(999))
	mined(t, restored, waiting)
}

// TestCopyOfRewoundChain: taking old blocks back breaks a copy off, taking new ones back
// doesn't.
func TestCopyOfRewoundChain(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	early := call(t, n, "evm_snapshot", "[]")
	call(t, n, "hardhat_mine", `["0x30"]`)
	if old := freezeOld(t, n); old < 20 {
		t.Fatalf("%d old blocks", old)
	}
	late := call(t, n, "evm_snapshot", "[]")
	call(t, n, "hardhat_mine", `["0x2"]`)
	during := func(id string) error {
		done := false
		return Copy(t.Context(), n, writerFunc(func(b []byte) (int, error) {
			if !done {
				done = true
				call(t, n, "evm_revert", "["+id+"]")
			}
			return len(b), nil
		}))
	}
	if err := during(late); err != nil {
		t.Errorf("new blocks were taken back: %v", err)
	}
	if err := during(early); !errors.Is(err, nodegate.Conflict) {
		t.Errorf("old blocks were taken back: %v", err)
	}
}

// TestCopyEnds: whoever copies goes away, or the chain closes.
func TestCopyEnds(t *testing.T) {
	n, err := Open(presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Copy(ctx, n, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	gone := errors.New("gone")
	if err := Copy(t.Context(), n, writerFunc(func([]byte) (int, error) { return 0, gone })); !errors.Is(err, gone) {
		t.Errorf("nobody reads: %v", err)
	}
	closed := make(chan struct{})
	begun := false
	err = Copy(t.Context(), n, writerFunc(func(b []byte) (int, error) {
		if !begun {
			begun = true
			go func() { defer close(closed); closeNode(t, n) }()
			<-n.copies.life.Done()
		}
		return len(b), nil
	}))
	if err != nil && !errors.Is(err, context.Canceled) { // it may have been at its end
		t.Errorf("closed: %v", err)
	}
	<-closed
	if err := Copy(t.Context(), n, io.Discard); !errors.Is(err, nodegate.NoNode) {
		t.Errorf("after the end: %v", err)
	}
	if err := Copy(t.Context(), shared(t, sharedDevnet), io.Discard); !errors.Is(err, nodegate.InvalidInput) {
		t.Errorf("in memory: %v", err)
	}
}

// A copy that was cut off is not taken for a whole one.
func TestCutCopy(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	var copied bytes.Buffer
	if err := Copy(t.Context(), n, &copied); err != nil {
		t.Fatal(err)
	}
	whole := copied.Bytes()
	for _, size := range []int{0, 1, len(whole) / 2, len(whole) - 2, len(whole) - 1} {
		r := NewCopyReader(bytes.NewReader(whole[:size]))
		var err error
		for err == nil {
			_, _, err = r.Next()
		}
		if !errors.Is(err, nodegate.Damaged) {
			t.Errorf("%d of %d bytes: %v", size, len(whole), err)
		}
	}
}
