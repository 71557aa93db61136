package chaos

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The wire forms of dag-pb and UnixFS, as far as the bombs need them.
func pbBytes(field int, b []byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(field<<3 | 2)}, uint64(len(b))), b...)
}

func pbUint(field int, n uint64) []byte {
	return binary.AppendUvarint([]byte{byte(field << 3)}, n)
}

func bombLink(hash []byte, name string) []byte {
	return pbBytes(2, append(append(pbBytes(1, hash), pbBytes(2, []byte(name))...), pbUint(3, 0)...))
}

// bomber makes DAGs of a few blocks that stand for very much.
type bomber struct {
	t           *testing.T
	p           *program
	key, secret string
}

// put stores a block and returns its CID, as text and as bytes.
func (b *bomber) put(codec string, data []byte) (text string, raw []byte) {
	b.t.Helper()
	kind, body := form("data", data)
	r := b.p.postAs(b.key, b.secret, "block/put?cid-codec="+codec, kind, bytes.NewReader(body), nil)
	var info struct{ Key string }
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &info) != nil {
		b.t.Fatalf("block/put: %d %s", r.status, r.body)
	}
	return info.Key, decodeBase32(b.t, info.Key)
}

// decodeBase32 reads a CID in its usual form.
func decodeBase32(t *testing.T, text string) (raw []byte) {
	t.Helper()
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	acc, bits := 0, 0
	for _, c := range text[1:] {
		acc, bits = acc<<5|strings.IndexRune(digits, c), bits+5
		if bits >= 8 {
			bits -= 8
			raw = append(raw, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	return raw
}

// shard is 256 links to one shard, in eight levels.
func (b *bomber) shard() string {
	data := pbBytes(1, append(append(pbUint(1, 5), pbUint(5, 0x22)...), pbUint(6, 256)...))
	text, raw := b.put("dag-pb", data)
	for range 7 {
		var block []byte
		for i := range 256 {
			block = append(block, bombLink(raw, fmt.Sprintf("%02X", i))...)
		}
		text, raw = b.put("dag-pb", append(block, data...))
	}
	return text
}

// file is a file of 1 MiB << 3*levels bytes.
func (b *bomber) file(levels int) string {
	text, raw := b.put("raw", make([]byte, 1<<20))
	for size := uint64(1 << 20); levels > 0; levels-- {
		var links []byte
		fs := pbUint(1, 2)
		for range 8 {
			links = append(links, bombLink(raw, "")...)
			fs = append(fs, pbUint(4, size)...)
		}
		text, raw = b.put("dag-pb", append(links, pbBytes(1, fs)...))
		size *= 8
	}
	return text
}

// folders are directories in directories, 64 entries each that are all the same.
func (b *bomber) folders() string {
	data := pbBytes(1, pbUint(1, 1))
	text, raw := b.put("dag-pb", data)
	for range 6 {
		var block []byte
		for i := range 64 {
			block = append(block, bombLink(raw, fmt.Sprintf("n%02d", i))...)
		}
		text, raw = b.put("dag-pb", append(block, data...))
	}
	return text
}

// card puts a test card on an account, which the storage gateway requires.
func (b *sandbox) card(email string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	cmd := b.command(ctx, "account", "card", email)
	cmd.Stdin = strings.NewReader("4242424242424242\n12/40\n123\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("account card: %v\n%.500s", err, out)
	}
}

// TestDAGBombs is row 48: one free account sends twenty requests at a time for
// directories and files without an end.
func TestDAGBombs(t *testing.T) {
	o := begin(t, 48, "20 concurrent requests of one account for HAMT and folder bombs, files of 2^50 bytes, compressed get", "another account's p99 at most 2x; each ends within 5 s with an error that names the bound")
	b, commands := newBomber(t)
	o.contest(t, func() (string, bool) {
		control, under, bombs := b.trial(commands)
		return fmt.Sprintf("alone %v; under attack %v; %d bombs, the slowest ended after %v", control, under, bombs.Sent, bombs.Slowest.Round(time.Millisecond)),
			under.Failed == 0 && under.P99 <= 2*control.P99 && bombs.Slowest <= 5*time.Second
	})
}

// TestDAGBombsOnBusyMachine is row 48 beside programs that leave no core free. Low priority
// must not become no turn at all: then everybody waits for the thread that collects garbage.
func TestDAGBombsOnBusyMachine(t *testing.T) {
	if os.Getenv(fullEnv) == "" {
		t.Skip("it is about time, and keeps the machine busy: make chaos")
	}
	o := begin(t, 48, "the same while another program keeps each core busy", "another account's p99 at most 4x")
	b, commands := newBomber(t)
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	}
	o.contest(t, func() (string, bool) {
		control, under, bombs := b.trial(commands)
		return fmt.Sprintf("alone %v; under attack %v; %d bombs, the slowest ended after %v", control, under, bombs.Sent, bombs.Slowest.Round(time.Millisecond)),
			under.Failed == 0 && under.P99 <= 4*control.P99
	})
}

// newBomber starts the program, with an account that has bombs, and the commands that set
// them off.
func newBomber(t *testing.T) (*bomber, []string) {
	box := newSandbox(t)
	p := box.start()
	box.account("mallory@example.com", "unlimited")
	box.card("mallory@example.com")
	key, secret := box.newKey("mallory@example.com")
	b := &bomber{t, p, key, secret}
	shard, huge, folders := b.shard(), b.file(10), b.folders()
	return b, []string{"ls?arg=" + shard, "get?arg=" + shard, "cat?arg=" + huge, "get?compress=true&arg=" + huge, "get?arg=" + folders}
}

// trial measures an innocent client alone and under attack.
func (b *bomber) trial(commands []string) (control, under figures, bombs raided) {
	during := time.Duration(length(2, 20)) * time.Second
	control = b.p.innocent("devnet", b.p.key, 50, during)
	attack := b.keepBombing(commands, 20)
	under = b.p.innocent("devnet", b.p.key, 50, during)
	bombs = attack()
	for _, text := range bombs.Wrong {
		b.t.Error(text)
	}
	return control, under, bombs
}

// raid is what an attacking client does: so many requests at a time, until it is told to
// end.
type raid struct {
	Base, Key, Secret string
	Commands          []string
	At                int
}

// raided is what came of a raid. Wrong are answers that name no bound.
type raided struct {
	Sent    int
	Slowest time.Duration
	Wrong   []string
}

// raidEnv makes the test program an attacking client: it is what the client is told.
const raidEnv = "NODEGATE_CHAOS_RAID"

// keepBombing sends commands, so many at a time, until the result is called.
func (b *bomber) keepBombing(commands []string, at int) (stop func() raided) {
	b.t.Helper()
	h := newAttacker(b.t, raidEnv, raid{b.p.base, b.key, b.secret, commands, at})
	return func() (r raided) {
		h.leave(&r)
		return r
	}
}

// runRaid is the attacking client's process. It ends with its input.
func runRaid(told string) error {
	var r raid
	if err := json.Unmarshal([]byte(told), &r); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r.run(inputEnds()))
}

func (r raid) run(end <-chan struct{}) (all raided) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: r.At}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range r.At {
		wait.Go(func() {
			for n := i; !closed(end); n++ {
				command := r.Commands[n%len(r.Commands)]
				begun := time.Now()
				answer := r.send(client, command)
				took := time.Since(begun)
				mu.Lock()
				all.note(command, answer, took)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return all
}

// send asks for a bomb and throws what comes away but for its beginning: the client is to cost
// this machine as little as it can.
func (r raid) send(client *http.Client, command string) reply {
	req, err := http.NewRequest(http.MethodPost, r.Base+"/api/v0/"+command, nil)
	if err != nil {
		return reply{body: err.Error()}
	}
	req.SetBasicAuth(r.Key, r.Secret)
	res, err := client.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer res.Body.Close()
	beginning, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		return reply{body: err.Error()}
	}
	return reply{res.StatusCode, string(beginning)}
}

func closed(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

func (r *raided) note(command string, answer reply, took time.Duration) {
	r.Sent++
	r.Slowest = max(r.Slowest, took)
	if !namesABound(answer) && len(r.Wrong) < 3 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %d %.200s", command, answer.status, answer.body))
	}
}

// namesABound tells whether an answer is a refusal that says why. An archive that has
// begun can only be broken off.
func namesABound(r reply) bool {
	if r.status == 0 {
		return strings.Contains(r.body, "EOF")
	}
	return r.status >= 400 && (strings.Contains(r.body, "storage.max_") || strings.Contains(r.body, "linked twice"))
}

// TestManyStorageKeys is the storage side of row 49: forty keys of one account have the
// share of one.
func TestManyStorageKeys(t *testing.T) {
	keys := length(6, 40)
	o := begin(t, 49, fmt.Sprintf("%d keys of one account, each with uploads that don't end", keys), "as many at once as one key has; another account is served")
	box := newSandbox(t, "NODEGATE_STORAGE_MAX_REQUESTS=8")
	p := box.start()
	box.account("mallory@example.com", "unlimited")
	box.card("mallory@example.com")
	var mu sync.Mutex
	busy := 0
	var held []*halfUploads
	for range keys {
		key, secret := box.newKey("mallory@example.com")
		held = append(held, p.holdUploads(key, secret, 4, func(r reply) {
			mu.Lock()
			defer mu.Unlock()
			if r.status == http.StatusTooManyRequests && strings.Contains(r.body, "storage.max_requests") {
				busy++
			}
		}))
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		done := busy == 4*keys-8
		mu.Unlock()
		if done {
			break
		}
	}
	_, other := p.add("", []byte("another account"))
	mu.Lock()
	refused := busy
	mu.Unlock()
	for _, u := range held {
		u.cutOff()
	}
	o.say("%d of %d uploads taken, %d refused with 429; another account got %d", 4*keys-refused, 4*keys, refused, other.status)
	if refused != 4*keys-8 || other.status != http.StatusOK {
		t.Error(o.measured)
	}
}
