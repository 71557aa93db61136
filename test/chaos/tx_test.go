package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// chainID is that of devnet.
var chainID = devchain.Devnet().Genesis().Config.ChainID

// signed is a transfer of a development account, and its hash.
type signed struct{ raw, hash string }

func transferOf(account devchain.Account, nonce uint64, price int64) signed {
	tx := types.MustSignNewTx(account.PrivateKey, types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
		ChainID: chainID, Nonce: nonce, To: &common.Address{1}, Value: big.NewInt(1), Gas: 21000,
		GasTipCap: big.NewInt(price * params.GWei), GasFeeCap: big.NewInt(20 * price * params.GWei),
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return signed{raw: hexutil.Encode(raw), hash: tx.Hash().Hex()}
}

// sent are the transactions that were acknowledged.
type sent struct {
	mu     sync.Mutex
	hashes map[string]bool
}

func (s *sent) note(hash string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		s.hashes[hash] = true
	} else {
		delete(s.hashes, hash)
	}
}

// send sends one transaction and notes the hash that it was answered with.
func (s *sent) send(ctx context.Context, p *program, tx signed) error {
	result, err := p.rpc(ctx, "devnet", p.key, "eth_sendRawTransaction", strconv.Quote(tx.raw))
	if err != nil {
		return err
	}
	if string(result) != strconv.Quote(tx.hash) {
		p.t.Errorf("the answer is %s, want %s", result, tx.hash)
	}
	s.note(tx.hash, true)
	return nil
}

// unknown counts the acknowledged transactions that the program doesn't know.
func (s *sent) unknown(p *program) (n int) {
	all := map[string]int{}
	for hash := range s.hashes {
		all[hash] = 0
	}
	var mu sync.Mutex
	each(all, func(hash string, _ int) {
		result, err := p.rpc(p.t.Context(), "devnet", p.key, "eth_getTransactionByHash", strconv.Quote(hash))
		if err != nil || string(result) == "null" {
			mu.Lock()
			defer mu.Unlock()
			n++
		}
	})
	return n
}

func nonceOf(p *program, a devchain.Account, tag string) uint64 {
	p.t.Helper()
	result, err := p.rpc(p.t.Context(), "devnet", p.key, "eth_getTransactionCount", strconv.Quote(a.Address.Hex()), strconv.Quote(tag))
	var nonce hexutil.Uint64
	if err != nil || json.Unmarshal(result, &nonce) != nil {
		p.t.Fatalf("the nonce: %s %v\n%.3000s", result, err, p.logs)
	}
	return uint64(nonce)
}

// TestKilledPool is row 43: transactions at a steady rate, some with a gap before them
// and some replaced, and a kill in the midst of it, again and again.
func TestKilledPool(t *testing.T) {
	kills, rate := length(2, 10), 500
	o := begin(t, 43, fmt.Sprintf("%d kills at %d transactions a second", kills, rate), "0 acknowledged hashes unknown after a restart")
	b := newSandbox(t)
	s := &sent{hashes: map[string]bool{}}
	accounts := devchain.Accounts()
	lost := 0
	for round := range kills {
		p := b.start()
		lost += s.unknown(p)
		s.sendAndKill(p, accounts, rate, round)
	}
	p := b.start()
	lost += s.unknown(p)
	o.say("%d acknowledged, %d unknown after a restart", len(s.hashes), lost)
	if lost > 0 || len(s.hashes) < 50*kills {
		t.Errorf("%s\n%.3000s", o.measured, p.logs)
	}
}

// sendAndKill sends for a second, each account at its share of the rate, and kills the
// program while answers are on their way. The last account's transactions wait for one
// that never comes, and each is replaced by a better paid one.
func (s *sent) sendAndKill(p *program, accounts []devchain.Account, rate, round int) {
	const during = time.Second
	last := len(accounts) - 1
	share := rate / last
	lists := make([][]signed, len(accounts))
	for i, a := range accounts[:last] {
		first := nonceOf(p, a, "pending")
		for k := range share {
			lists[i] = append(lists[i], transferOf(a, first+uint64(k), 1))
		}
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	var wait sync.WaitGroup
	for _, list := range lists[:last] {
		wait.Go(func() {
			tick := time.NewTicker(during / time.Duration(share))
			defer tick.Stop()
			for _, tx := range list {
				if s.send(ctx, p, tx) != nil {
					return
				}
				<-tick.C
			}
		})
	}
	wait.Go(func() { s.replace(ctx, p, accounts[last], uint64(1000+4*round)) })
	time.Sleep(during * 8 / 10)
	_ = p.cmd.Process.Kill()
	cancel()
	wait.Wait()
	p.kill()
}

// replace sends transactions that can't be mined yet, and then each again at twice the
// price. The first one may be gone from then on.
func (s *sent) replace(ctx context.Context, p *program, a devchain.Account, nonce uint64) {
	for range 4 {
		first, second := transferOf(a, nonce, 1), transferOf(a, nonce, 2)
		if s.send(ctx, p, first) != nil {
			return
		}
		s.note(first.hash, false) // either is right until the second is answered
		if s.send(ctx, p, second) != nil {
			return
		}
		nonce++
	}
}

// TestChainOnFullDisk is row 45: something else fills the disk under the chain and the
// account store. Whatever the reserve, everything that writes there is refused in time and
// goes on by itself.
func TestChainOnFullDisk(t *testing.T) {
	for reserve, left := range map[string]int{"8MiB": 4 << 20, "0": 256 << 10} {
		t.Run("reserve "+reserve, func(t *testing.T) {
			o := begin(t, 45, "disk of 96 MB full under the chain and SQLite, reserve "+reserve, "reads 100 %, writes 507 / -32000, goes on after freeing, 0 acknowledged lost")
			b := newSandbox(t, "NODEGATE_STORAGE_RESERVE="+reserve)
			mountTmpfs(t, o, b.path("data"), "96m")
			fillUnderChain(t, o, b, left)
		})
	}
}

// fill leaves so many bytes of a disk free.
func fill(t *testing.T, b *sandbox, leave int) (ballast string) {
	t.Helper()
	ballast = b.path("data", "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := make([]byte, 64<<10)
	size := int64(0)
	for {
		n, err := f.Write(chunk)
		size += int64(n)
		if err != nil {
			break // full
		}
	}
	if err := f.Truncate(max(0, size-int64(leave))); err != nil {
		t.Fatal(err)
	}
	return ballast
}

// used is a program with something in every store.
func used(b *sandbox, s *sent, a devchain.Account) (p *program, cid string) {
	p = b.start()
	cid = p.mustAdd(pattern(1, 100_000))
	first := nonceOf(p, a, "pending")
	for i := range 20 {
		if err := s.send(b.t.Context(), p, transferOf(a, first+uint64(i), 1)); err != nil {
			b.t.Fatal(err)
		}
	}
	return p, cid
}

// reads reads from the chain and from storage, and returns how many reads were good.
func reads(p *program, cid string, count int) (chain, storage int) {
	for range count {
		if _, err := p.rpc(p.t.Context(), "devnet", p.key, "eth_getBlockByNumber", `"latest"`, "true"); err == nil {
			chain++
		}
		if p.post("cat?arg="+cid, "", nil).body == string(pattern(1, 100_000)) {
			storage++
		}
	}
	return chain, storage
}

func fillUnderChain(t *testing.T, o *outcome, b *sandbox, left int) {
	t.Helper()
	a := devchain.Accounts()[0]
	s := &sent{hashes: map[string]bool{}}
	p, cid := used(b, s, a)
	ballast := fill(t, b, left)
	time.Sleep(100 * time.Millisecond) // a look at the disk holds for less
	refused := s.send(t.Context(), p, transferOf(a, nonceOf(p, a, "latest"), 1))
	if refused == nil || !strings.Contains(refused.Error(), "-32000 disk full") {
		t.Errorf("a transaction on a full disk: %v", refused)
	}
	if _, r := p.add("", pattern(2, 1<<20)); r.status != 507 {
		t.Errorf("an upload on a full disk: %d %s", r.status, r.body)
	}
	out, err := p.command(t.Context(), "key", "create", "--account", "dev@localhost").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "disk full") {
		t.Errorf("a key on a full disk: %v %s", err, out)
	}
	chain, storage := reads(p, cid, 50)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for err = s.send(t.Context(), p, transferOf(a, nonceOf(p, a, "latest"), 1)); err != nil && time.Since(begun) < 10*time.Second; {
		time.Sleep(20 * time.Millisecond)
		err = s.send(t.Context(), p, transferOf(a, nonceOf(p, a, "latest"), 1))
	}
	if err != nil {
		t.Errorf("after freeing: %v", err)
	}
	again := time.Since(begun)
	b.newKey("dev@localhost")
	p.kill()
	lost := s.unknown(b.start())
	o.say("reads %d of 100, writes refused, goes on %v after freeing, %d of %d acknowledged lost", chain+storage, again.Round(time.Millisecond), lost, len(s.hashes))
	o.within(again < 5*time.Second)
	if chain != 50 || storage != 50 || lost > 0 {
		t.Errorf("%s\n%.3000s", o.measured, p.logs)
	}
}

// TestChainFailingCalls is row 30 under the chain: the n-th sync or write of each thread
// fails. The process goes on, and what was acknowledged is there after a restart.
func TestChainFailingCalls(t *testing.T) {
	highest := length(2, 12)
	o := begin(t, 30, fmt.Sprintf("EIO at the n-th sync or write under the chain, n = 1 to %d", highest), "the process goes on; everything acknowledged is there after a restart")
	mayTrace(t, o, "TestFailedWrites of internal/rpc/chain")
	b := newSandbox(t, "GOMAXPROCS=1")
	s := &sent{hashes: map[string]bool{}}
	account := devchain.Accounts()[0]
	stopped, alive, lost := 0, 0, 0
	for n := 1; n <= highest; n++ {
		p := b.start()
		lost += s.unknown(p)
		tr, err := attach(p, "-o", os.DevNull, "-e", "trace=pwrite64,fsync,fdatasync", "-e", fmt.Sprintf("inject=pwrite64,fsync,fdatasync:error=EIO:when=%d", n))
		if err != nil {
			o.skip(t, "%v", err)
		}
		next := nonceOf(p, account, "pending")
		for i := range uint64(10 + 8*n) {
			if s.send(t.Context(), p, transferOf(account, next+i, 1)) != nil {
				stopped++
				break
			}
		}
		tr.detach()
		if p.get("/healthz") == 200 {
			alive++
		}
		p.kill()
	}
	lost += s.unknown(b.start())
	o.say("%d runs: the network stopped in %d, the process went on in %d, %d of %d acknowledged lost", highest, stopped, alive, lost, len(s.hashes))
	if lost > 0 || alive != highest || stopped == 0 {
		t.Error(o.measured)
	}
}
