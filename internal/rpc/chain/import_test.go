package chain

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// boundaries are the offsets between the blocks of a chain file.
func boundaries(t testing.TB, chain []byte) map[int]bool {
	t.Helper()
	ends := map[int]bool{0: true}
	for rest := chain; len(rest) > 0; {
		_, _, tail, err := rlp.Split(rest)
		if err != nil {
			t.Fatal(err)
		}
		ends[len(chain)-len(tail)] = true
		rest = tail
	}
	return ends
}

// A file that ends between two blocks is a shorter chain; any other cut shows.
func TestDecodeTruncatedChain(t *testing.T) {
	chain := devchain.Devnet().Chain
	ends := boundaries(t, chain)
	for cut := range len(chain) {
		blocks, err := decodeChain(chain[:cut])
		if whole := ends[cut]; (err == nil) != whole {
			t.Fatalf("cut at %d of %d: %d blocks, error %v", cut, len(chain), len(blocks), err)
		}
		if err != nil && blocks != nil {
			t.Fatalf("cut at %d: %d blocks beside an error", cut, len(blocks))
		}
	}
}

// refused opens a chain in a fresh folder and sees that nothing is left of it.
func refused(t *testing.T, cfg Config) *nodegate.Error {
	t.Helper()
	cfg.Dir = filepath.Join(t.TempDir(), "chain")
	n, err := Open(cfg)
	if err == nil {
		defer n.Close()
		t.Fatalf("it opened, with block %d as its head", head(t, n))
	}
	if _, err := os.Stat(cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder was left behind")
	}
	return wantCode(t, err, nodegate.BadConfig)
}

func TestTruncatedChainImportsNothing(t *testing.T) {
	full.Slow(t)
	p := devchain.Devnet()
	ends := boundaries(t, p.Chain)
	for i := 1; i <= 10; i++ {
		cut := i * (len(p.Chain) - 1) / 10
		if ends[cut] {
			cut--
		}
		e := refused(t, chainConfig(p.Genesis(), p.Chain[:cut], ""))
		if !strings.Contains(e.Msg, "nothing was imported") {
			t.Errorf("cut at %d: %q", cut, e.Msg)
		}
	}
}

// A changed bit breaks the block's encoding or a hash: each block but the last is
// vouched for by the next one's parent hash, and by its own roots.
func TestFlippedBitImportsNothing(t *testing.T) {
	full.Slow(t)
	p := devchain.Devnet()
	blocks, err := decodeChain(p.Chain)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := rlp.EncodeToBytes(blocks[len(blocks)-1])
	vouched := len(p.Chain) - len(last)
	for i := range 10 {
		at := i * vouched / 10
		damaged := bytes.Clone(p.Chain)
		damaged[at] ^= 1 << (i % 8)
		if e := refused(t, chainConfig(p.Genesis(), damaged, "")); !strings.Contains(e.Msg, "nothing was imported") {
			t.Errorf("bit flipped at %d: %q", at, e.Msg)
		}
	}
}

func TestChainFilesThatAreNone(t *testing.T) {
	p, other := devchain.Devnet(), devchain.Rollup()
	blocks, err := decodeChain(p.Chain)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		chain []byte
	}{
		{"text", []byte("these are no blocks")},
		{"zeros", make([]byte, 1000)},
		{"another chain's", other.Chain},
		{"without its first block", encodeBlocks(blocks[1:])},
		{"with a gap", encodeBlocks(append(append(types.Blocks{}, blocks[:4]...), blocks[5:]...))},
		{"in the wrong order", encodeBlocks(types.Blocks{blocks[1], blocks[0]})},
		{"with bytes after it", append(bytes.Clone(p.Chain), 0x01)},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, chainConfig(p.Genesis(), c.chain, ""))
		})
	}
}

func encodeBlocks(blocks types.Blocks) []byte {
	var out bytes.Buffer
	for _, b := range blocks {
		if err := b.EncodeRLP(&out); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

// Some exports begin with the genesis block.
func TestChainFileWithGenesis(t *testing.T) {
	p := devchain.Devnet()
	chain := append(encodeBlocks(types.Blocks{p.Genesis().ToBlock()}), p.Chain...)
	if got := head(t, openTemp(t, chainConfig(p.Genesis(), chain, ""))); got != 10 {
		t.Errorf("head is %d", got)
	}
}

// A file in memory is refused in the same words.
func TestTruncatedChainInMemory(t *testing.T) {
	p := devchain.Devnet()
	_, err := Open(chainConfig(p.Genesis(), p.Chain[:len(p.Chain)-1], ""))
	wantCode(t, err, nodegate.BadConfig)
}

func TestOtherGenesis(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	cfg := presetConfig(devchain.Devnet(), dir)
	before := answersOf(t, cfg)

	other := presetConfig(devchain.Rollup(), dir)
	_, err := Open(other)
	e := wantCode(t, err, nodegate.BadConfig)
	stored, configured := devchain.Devnet().Genesis().ToBlock().Hash(), devchain.Rollup().Genesis().ToBlock().Hash()
	for _, want := range []string{"another chain", stored.Hex(), configured.Hex()} {
		if !strings.Contains(e.Msg, want) {
			t.Errorf("%q doesn't say %q", e.Msg, want)
		}
	}
	if after := answersOf(t, cfg); after != before {
		t.Error("the stored chain changed")
	}
}

// What an interrupted first start leaves says of itself that it is not complete. Nobody
// was answered from it, so the next start clears it away.
func TestInterruptedFirstStart(t *testing.T) {
	for _, leftover := range []string{"nothing", "empty folder", "garbage", "whole chain"} {
		t.Run(leftover, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "chain")
			leave(t, leftover, dir)
			n := openTemp(t, presetConfig(devchain.Devnet(), dir))
			if got := head(t, n); got != 10 || !imported(dir) {
				t.Errorf("head is %d, marked complete: %v", got, imported(dir))
			}
			checkNine(t, n)
		})
	}
}

// leave makes a folder as a first start may leave it.
func leave(t *testing.T, what, dir string) {
	t.Helper()
	inner := filepath.Join(dir, nodeName, "chaindata")
	defer func() {
		if what != "nothing" {
			mustDo(t, os.WriteFile(filepath.Join(dir, importingName), nil, 0o600))
		}
	}()
	switch what {
	case "empty folder":
		mustDo(t, os.MkdirAll(inner, 0o700))
	case "garbage":
		mustDo(t, os.MkdirAll(inner, 0o700))
		mustDo(t, os.WriteFile(filepath.Join(inner, "CURRENT"), []byte("nonsense"), 0o600))
		mustDo(t, os.WriteFile(filepath.Join(inner, "MANIFEST-000001"), make([]byte, 500), 0o600))
	case "whole chain":
		answersOf(t, presetConfig(devchain.Devnet(), dir))
		mustDo(t, os.Remove(filepath.Join(dir, markerName)))
	}
}

// A chain without its marker, and without a word that it was never complete, is somebody's
// data: it is refused and stays as it is.
func TestMissingMarker(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	cfg := presetConfig(devchain.Devnet(), dir)
	n, err := Open(cfg)
	mustDo(t, err)
	call(t, n, "evm_mine", "[]")
	closeNode(t, n)
	marker, err := os.ReadFile(filepath.Join(dir, markerName))
	mustDo(t, err)
	mustDo(t, os.Remove(filepath.Join(dir, markerName)))
	before := contentsOf(t, dir)
	for range 2 {
		_, err = Open(cfg)
		if e := wantCode(t, err, nodegate.BadConfig); !strings.Contains(e.Msg, filepath.Join(dir, markerName)+" is missing") {
			t.Errorf("the message doesn't help: %q", e.Msg)
		}
	}
	if after := contentsOf(t, dir); !maps.Equal(before, after) {
		t.Error("the folder was changed")
	}
	mustDo(t, os.WriteFile(filepath.Join(dir, markerName), marker, 0o600))
	if got := head(t, openTemp(t, cfg)); got != 11 {
		t.Errorf("the head is %d", got)
	}
}

// contentsOf is the content of every file of a folder.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	mustDo(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}))
	return all
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The temporary file of the marker is gone, whatever happened to it.
func TestMarkerLeavesNoScraps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	answersOf(t, presetConfig(devchain.Devnet(), dir))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), markerName+".") {
			t.Errorf("the folder holds %s", e.Name())
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, markerName)); err != nil || !strings.Contains(string(text), "\nhead 10 0x") {
		t.Errorf("the marker says %q, %v", text, err)
	}
}
