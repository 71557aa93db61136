package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/harness"
)

const (
	storageKey    = "00112233445566778899aabbccdd" + "e6af"
	storageSecret = "0123456789012345678901234567890123456789"
	devAccount    = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
)

// acked is what clients were told, at one moment.
type acked struct {
	accounts map[string]bool     // by address
	keys     map[string]bool     // false is revoked
	txs      map[string][]string // hashes by network
	files    map[string][]byte   // by CID, pinned
	removed  map[string]bool     // CIDs that were unpinned
	calls    int                 // of the first key
}

// load is clients that change everything at once, and what they were told.
type load struct {
	s    *harness.Service
	end  context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	acked    acked
	doubtful map[string]bool // keys and CIDs that are being revoked or unpinned
	rounds   map[string]int
	failed   error
}

// startLoad begins to write.
func startLoad(t *testing.T, s *harness.Service) *load {
	t.Helper()
	if err := s.AddStorageKey("storage", "unlimited", storageKey, storageSecret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	l := &load{s: s, rounds: map[string]int{}, doubtful: map[string]bool{}}
	l.acked = acked{accounts: map[string]bool{}, keys: map[string]bool{}, txs: map[string][]string{}, files: map[string][]byte{}, removed: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	for name, do := range map[string]func(ctx context.Context, i int) error{
		"accounts": l.account, "files": l.file, "calls": l.call, "devnet": l.sender("devnet", 1337), "rollup": l.sender("rollup", 1338),
	} {
		l.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				err := do(context.Background(), i) // a round that has begun is ended: its outcome is known
				l.mu.Lock()
				l.rounds[name]++
				if err != nil && l.failed == nil {
					l.failed = fmt.Errorf("%s: %w", name, err)
				}
				l.mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); l.done.Wait() })
	return l
}

// atLeast waits until every client has had so many more rounds.
func (l *load) atLeast(t *testing.T, more int) {
	t.Helper()
	l.mu.Lock()
	before := maps.Clone(l.rounds)
	l.mu.Unlock()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		least := 1 << 30
		for _, name := range []string{"accounts", "files", "calls", "devnet", "rollup"} {
			least = min(least, l.rounds[name]-before[name])
		}
		failed := l.failed
		l.mu.Unlock()
		if failed != nil || time.Now().After(deadline) {
			t.Fatalf("the load: %v", failed)
		}
		if least >= more {
			return
		}
	}
}

// acknowledged is what was told so far.
func (l *load) acknowledged() acked {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.acked
	a.accounts, a.keys, a.files, a.removed = maps.Clone(a.accounts), maps.Clone(a.keys), maps.Clone(a.files), maps.Clone(a.removed)
	a.txs = maps.Clone(a.txs)
	for name, list := range a.txs {
		a.txs[name] = slices.Clone(list)
	}
	return a
}

// stop ends the load.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.end()
	l.done.Wait()
	if l.failed != nil {
		t.Fatal(l.failed)
	}
}

// tell notes an acknowledgment.
func (l *load) tell(what func(*acked)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what(&l.acked)
}

// doubt notes that something is about to be undone: until that is acknowledged nobody
// knows which of the two a backup has.
func (l *load) doubt(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubtful[name] = true
}

// account creates an account with two keys, and revokes one.
func (l *load) account(ctx context.Context, i int) error {
	accounts, actor := l.s.Server.Control().Accounts, nodegate.Actor{Name: "test"}
	email := fmt.Sprintf("user%d@example.com", i)
	a, err := accounts.Create(ctx, actor, server.NewAccount{Email: email, Plan: "unlimited"})
	if err != nil {
		return err
	}
	l.tell(func(a *acked) { a.accounts[email] = true })
	for k := range 2 {
		key, err := accounts.CreateKey(ctx, actor, a.ID, "key", nodegate.KeySettings{})
		if err != nil {
			return err
		}
		l.tell(func(a *acked) { a.keys[key.Value] = true })
		if k == 0 {
			continue
		}
		l.doubt(key.Value)
		if err := accounts.RevokeKey(ctx, actor, a.ID, key.Key.ID); err != nil {
			return err
		}
		l.tell(func(a *acked) { a.keys[key.Value] = false })
	}
	return nil
}

// file adds two files and unpins one.
func (l *load) file(ctx context.Context, i int) error {
	for k := range 2 {
		content := bytes.Repeat(fmt.Appendf(nil, "file %d.%d, ", i, k), 2000*(1+i%20))
		hash, err := l.add(ctx, content)
		if err != nil {
			return err
		}
		l.tell(func(a *acked) { a.files[hash] = content })
		if k == 0 {
			continue
		}
		l.doubt(hash)
		if _, err := storagePost(ctx, l.s, "pin/rm?arg="+hash, "", nil); err != nil {
			return err
		}
		l.tell(func(a *acked) { delete(a.files, hash); a.removed[hash] = true })
	}
	return nil
}

func (l *load) add(ctx context.Context, content []byte) (string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("file", "file")
	_, _ = part.Write(content)
	_ = w.Close()
	body, err := storagePost(ctx, l.s, "add", w.FormDataContentType(), b.Bytes())
	var added struct{ Hash string }
	if err == nil {
		err = json.Unmarshal(body, &added)
	}
	return added.Hash, err
}

// storagePost sends a command to the storage gateway.
func storagePost(ctx context.Context, s *harness.Service, command, kind string, body []byte) ([]byte, error) {
	url := strings.Replace(s.Server.Addresses().Storage, "https:", "http:", 1) + "/api/v0/" + command
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	req.SetBasicAuth(storageKey, storageSecret)
	return answerOf(req)
}

func answerOf(req *http.Request) ([]byte, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", req.URL.Path, res.StatusCode, text)
	}
	return text, err
}

// rpc sends a call and reads its result.
func rpc(ctx context.Context, s *harness.Service, network, key string, result any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, params...)})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(network, key), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	text, err := answerOf(req)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, result)
}

func (l *load) call(ctx context.Context, _ int) error {
	var number string
	if err := rpc(ctx, l.s, "devnet", harness.KeyA, &number, "eth_blockNumber"); err != nil {
		return err
	}
	l.tell(func(a *acked) { a.calls++ })
	return nil
}

// sender sends transactions of one account, each when the one before is acknowledged.
func (l *load) sender(network string, chainID int64) func(context.Context, int) error {
	key, _ := crypto.HexToECDSA(devAccount)
	nonce := uint64(0)
	return func(ctx context.Context, i int) error {
		if i == 0 {
			var next hexutil.Uint64
			if err := rpc(ctx, l.s, network, harness.KeyB, &next, "eth_getTransactionCount", crypto.PubkeyToAddress(key.PublicKey), "pending"); err != nil {
				return err
			}
			nonce = uint64(next)
		}
		to := common.HexToAddress("0x00000000000000000000000000000000000f1c50")
		tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11), Gas: 21000, To: &to, Value: big.NewInt(1),
		})
		if err != nil {
			return err
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return err
		}
		var hash string
		if err := rpc(ctx, l.s, network, harness.KeyB, &hash, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
			return err
		}
		nonce++
		l.tell(func(a *acked) { a.txs[network] = append(a.txs[network], hash) })
		return nil
	}
}

// check compares a restored server with what was told.
func (l *load) check(t *testing.T, s *harness.Service, want acked) {
	t.Helper()
	if s.Server.First() != nil {
		t.Error("the store counts as empty")
	}
	l.checkAccounts(t, s, want)
	l.checkFiles(t, s, want)
	for network, list := range want.txs {
		for _, hash := range list {
			checkTx(t, s, network, hash)
		}
	}
	if len(want.accounts) == 0 || len(want.files) == 0 || len(want.removed) == 0 || len(want.txs) != 2 || want.calls == 0 {
		t.Error("the load did nothing: the test is of no use")
	}
}

func (l *load) checkAccounts(t *testing.T, s *harness.Service, want acked) {
	t.Helper()
	control := s.Server.Control()
	for email := range want.accounts {
		if _, err := control.Accounts.Find(t.Context(), email); err != nil {
			t.Errorf("%s: %v", email, err)
		}
	}
	for key, live := range want.keys {
		var id string
		err := rpc(t.Context(), s, "devnet", key, &id, "eth_chainId")
		if live && err != nil && !l.doubtful[key] {
			t.Errorf("a key doesn't work: %v", err)
		}
		if !live && err == nil {
			t.Error("a revoked key works")
		}
	}
	if report, err := control.Accounts.VerifyAudit(t.Context()); err != nil || report.Broken != 0 || report.Entries == 0 {
		t.Errorf("the audit log: %+v, %v", report, err)
	}
	days, err := control.Store.UsageByDay(t.Context(), "a-a", time.Unix(0, 0), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, d := range days {
		calls += int(d.Requests)
	}
	if calls < want.calls {
		t.Errorf("%d calls are counted, %d were answered", calls, want.calls)
	}
}

func (l *load) checkFiles(t *testing.T, s *harness.Service, want acked) {
	t.Helper()
	text, err := storagePost(t.Context(), s, "pin/ls?type=recursive", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var pins struct{ Keys map[string]any }
	if err := json.Unmarshal(text, &pins); err != nil {
		t.Fatal(err)
	}
	for hash, content := range want.files {
		if _, pinned := pins.Keys[hash]; !pinned && !l.doubtful[hash] {
			t.Errorf("%s is not pinned", hash)
		}
		if got, err := storagePost(t.Context(), s, "cat?arg="+hash, "", nil); err != nil || !bytes.Equal(got, content) {
			t.Errorf("cat %s: %d bytes, %v", hash, len(got), err)
		}
	}
	for hash := range want.removed {
		if _, pinned := pins.Keys[hash]; pinned {
			t.Errorf("%s was unpinned, and is pinned", hash)
		}
	}
}

// checkTx sees that a transaction is mined, at once or when its block is sealed.
func checkTx(t *testing.T, s *harness.Service, network, hash string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var receipt *struct{ Status string }
		err := rpc(t.Context(), s, network, harness.KeyA, &receipt, "eth_getTransactionReceipt", hash)
		if err == nil && receipt != nil {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Errorf("%s on %s is lost: %v", hash, network, err)
			return
		}
	}
}
