package storage_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

var operator = nodegate.Actor{Name: "test", From: "here"}

// TestCard: without a valid card nothing works, from the moment it is gone.
func TestCard(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	accounts, id := n.Server.Control().Accounts, "a-"+n.name
	cid := n.add(t, "", file("x", []byte("with a card")))[0]
	if err := accounts.RemoveCard(t.Context(), operator, id); err != nil {
		t.Fatal(err)
	}
	const message = "a billing card is required to use the storage gateway\n"
	for _, command := range []string{"cat?arg=" + cid, "version", "pin/rm?arg=" + cid} {
		n.fails(t, command, http.StatusPaymentRequired, message)
	}
	if a := n.upload("add", file("y", []byte("without a card"))); a.status != http.StatusPaymentRequired || a.body != message {
		t.Errorf("add: %d %s", a.status, a.body)
	}
	if _, err := accounts.PutCard(t.Context(), operator, nodegate.CardEntry{AccountID: id, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year() + 1, CVC: "123"}); err != nil {
		t.Fatal(err)
	}
	if got := n.ok(t, "cat?arg="+cid); got != "with a card" {
		t.Errorf("cat: %q", got)
	}
	a, err := n.Server.Control().Store.Account(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a.Card.ExpYear = 2020
	if err := n.Server.Control().Store.Save(t.Context(), &nodegate.Change{Account: a, Audit: nodegate.AuditEntry{Actor: "test", Action: "card.put", AccountID: id}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the card has expired", func() bool { return n.do("version").status == http.StatusPaymentRequired })
}

// until waits for a change that somebody else made in the store to be followed.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestRevoked: a revoked key opens nothing.
func TestRevoked(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	n.ok(t, "version")
	if err := n.Server.Control().Accounts.RevokeKey(t.Context(), operator, "a-"+n.name, "k-"+n.name); err != nil {
		t.Fatal(err)
	}
	n.fails(t, "version", http.StatusUnauthorized, "basic auth failure: invalid API key or API key secret\n")
}

// TestSecret: a key that needs no secret for JSON-RPC needs it here.
func TestSecret(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	res, err := client.Post(n.URL("devnet", n.key), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("JSON-RPC: %v %v", res, err)
	}
	_ = res.Body.Close()
	for _, secret := range []string{"", strings.Repeat("0", 40), n.secret[:39], n.key} {
		other := *n
		other.secret = secret
		other.fails(t, "version", http.StatusUnauthorized, "basic auth failure")
	}
	n.ok(t, "version")
}

// TestAllowlists: the key's own lists of pages and programs hold here too.
func TestAllowlists(t *testing.T) {
	t.Parallel()
	n := shared(t).tenantWith(t, fmt.Sprintf("allowlists-%d", tenants.Add(1)), "unlimited", nodegate.KeySettings{Origins: []string{"https://app.example"}})
	for origin, want := range map[string]int{"https://app.example": http.StatusOK, "https://evil.example": http.StatusForbidden, "": http.StatusForbidden} {
		req := n.request(t.Context(), "version", "", nil)
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		a := send(req)
		if a.status != want {
			t.Errorf("from %q: %d %s", origin, a.status, a.body)
		}
		if allowed := a.header.Get("Access-Control-Allow-Origin"); (allowed == origin && origin != "") != (want == http.StatusOK) {
			t.Errorf("from %q: pages of %q may read the answer", origin, allowed)
		}
	}
}

const quota = 1 << 20

// limited are plans of an account that reaches a limit soon.
func limited(c *config.Config) {
	c.Plans["stored"] = config.Plan{StoredBytes: quota}
	c.Plans["moved"] = config.Plan{MovedBytes: 100_000}
	c.Plans["rates"] = config.Plan{StorageWrites: 3, StorageReads: 5}
	c.Storage.MaxFile = 4 << 20
	c.Storage.Undo = 0
}

// TestLimits shares one server with small plans.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := start(t, limited)
	t.Run("quota", func(t *testing.T) { quotaRace(t, s) })
	t.Run("import", func(t *testing.T) { importBeyond(t, s) })
	t.Run("moved", func(t *testing.T) { movedBytes(t, s) })
	t.Run("streams", func(t *testing.T) { movedStreams(t, s) })
	t.Run("plan", func(t *testing.T) { planAtOnce(t, s) })
	t.Run("rates", func(t *testing.T) { rates(t, s) })
	t.Run("file", func(t *testing.T) { largeFile(t, s) })
	t.Run("collect", func(t *testing.T) { sharedPins(t, s) })
}

// quotaRace uploads 16 times 60 % of a quota at once: one fits at most.
func quotaRace(t *testing.T, s *service) {
	n := s.tenant(t, "quota", "stored")
	var mu sync.Mutex
	var wait sync.WaitGroup
	var stored []string
	for i := range 16 {
		wait.Go(func() {
			a := n.upload("add", file("x", pattern(100+i, quota*6/10)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status == http.StatusOK && a.err == nil:
				stored = append(stored, hashes(t, a.body)...)
			case a.status != http.StatusRequestEntityTooLarge || a.body != "storage quota reached\n":
				t.Errorf("%d %q %v", a.status, a.body, a.err)
			}
		})
	}
	wait.Wait()
	if len(stored) > 1 || len(n.pins(t)) != len(stored) {
		t.Fatalf("stored %v, pinned %v", stored, n.pins(t))
	}
	if len(stored) == 0 { // they kept each other out; alone it fits
		stored = n.add(t, "", file("x", pattern(100, quota*6/10)))
	}
	refused := n.upload("add", file("x", pattern(200, quota*6/10)))
	if refused.status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the quota: %d %s", refused.status, refused.body)
	}
	begun := n.upload("add?progress=true", file("x", pattern(204, 2*quota)))
	if begun.status == http.StatusOK && begun.err == nil || strings.Contains(begun.body, "Hash") {
		t.Errorf("an answer that had begun ends as if all were well: %s", begun.body)
	}
	keptOpen(t, n)
	n.add(t, "", file("y", pattern(201, quota*3/10)))
	n.ok(t, "pin/rm?arg="+stored[0])
	collect(t, s)
	n.add(t, "", file("x", pattern(202, quota*6/10))) // there is room again
}

// importBeyond imports CARs whose root is one small block that links to nothing: the
// other blocks count until they are collected.
func importBeyond(t *testing.T, s *service) {
	n := s.tenant(t, "import", "stored")
	send := func(seed int) answer {
		list := [][]byte{[]byte("tiny root")}
		for i := range 3 {
			list = append(list, pattern(300+10*seed+i, quota*2/10))
		}
		return n.upload("dag/import?pin-roots=true", file("car", carOf(t, list...)))
	}
	if a := send(0); a.status != http.StatusOK || a.err != nil {
		t.Fatalf("within the quota: %d %s %v", a.status, a.body, a.err)
	}
	refused, want := send(1), n.upload("add", file("x", pattern(340, quota*6/10)))
	if refused.status != http.StatusRequestEntityTooLarge || refused.body != "storage quota reached\n" {
		t.Errorf("beyond the quota: %d %q", refused.status, refused.body)
	}
	if refused.status != want.status || refused.body != want.body {
		t.Errorf("an add beyond the quota: %d %q", want.status, want.body)
	}
	collect(t, s)
	if a := send(1); a.status != http.StatusOK || a.err != nil {
		t.Errorf("after a collection: %d %s %v", a.status, a.body, a.err)
	}
}

// carOf writes a CAR of raw blocks, the first of which is its root.
func carOf(t *testing.T, list ...[]byte) []byte {
	t.Helper()
	var b []byte
	for i, data := range list {
		c, err := cid.Prefix{Version: 1, Codec: cid.Raw, MhType: multihash.SHA2_256, MhLength: -1}.Sum(data)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			header := slices.Concat([]byte("\xa2\x65roots\x81\xd8\x2a\x58\x25\x00"), c.Bytes(), []byte("\x67version\x01"))
			b = append(binary.AppendUvarint(b, uint64(len(header))), header...)
		}
		b = binary.AppendUvarint(b, uint64(c.ByteLen()+len(data)))
		b = append(append(b, c.Bytes()...), data...)
	}
	return b
}

// keptOpen sends on after the answer: the connection must end.
func keptOpen(t *testing.T, n *tenant) {
	t.Helper()
	kind, whole := body(file("x", pattern(203, 4*quota)))
	c := rawPost(t, n, "add", kind, len(whole))
	go func() { _, _ = c.Write(whole) }()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		k, err := c.Read(buf)
		text.Write(buf[:k])
		if err != nil {
			if !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection stays: %v", err)
			}
			break
		}
	}
	if !strings.HasPrefix(text.String(), "HTTP/1.1 413 ") || !strings.Contains(text.String(), "\r\nConnection: close\r\n") {
		t.Errorf("answered %q", text.String())
	}
}

// collect removes what nobody needs, at once.
func collect(t *testing.T, s *service) {
	t.Helper()
	res, err := client.Post(s.Admin+"/storage/gc", "", nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("collect: %v %v", res, err)
	}
	_ = res.Body.Close()
}

func movedBytes(t *testing.T, s *service) {
	n := s.tenant(t, "moved", "moved")
	cid := n.add(t, "", file("x", pattern(300, 60_000)))[0]
	n.ok(t, "cat?arg="+cid)
	n.fails(t, "cat?arg="+cid, http.StatusForbidden, "not allowed - transfer quota reached\n")
	n.fails(t, "pin/ls", http.StatusForbidden, "not allowed - transfer quota reached\n")
}

// movedStreams: many transfers at once, each let in before the limit, end together
// when it is passed by far.
func movedStreams(t *testing.T, s *service) {
	owner := s.tenant(t, "owner", "unlimited")
	content := pattern(301, 4<<20)
	var cids []string
	for range 12 { // one file, as often as it takes: 48 MiB a request
		cids = append(cids, owner.add(t, "", file("x", content))...)
	}
	n := s.tenant(t, "streams", "moved")
	var mu sync.Mutex
	var wait sync.WaitGroup
	total, cut := 0, 0
	for range 8 {
		wait.Go(func() {
			a := n.do("cat?arg=" + strings.Join(cids, "&arg="))
			mu.Lock()
			defer mu.Unlock()
			if total += len(a.body); a.err != nil {
				cut++
			}
		})
	}
	wait.Wait()
	const grace, slack = 16 << 20, 8 << 20 // what is in progress in eight transfers
	if total > 100_000+grace+slack || cut == 0 {
		t.Errorf("%d bytes were moved, %d transfers cut", total, cut)
	}
	n.fails(t, "version", http.StatusForbidden, "not allowed - transfer quota reached\n")
	up := s.tenant(t, "streams-up", "moved")
	var parts []part
	for i := range 8 {
		parts = append(parts, file(fmt.Sprint(i), content))
	}
	if a := up.upload("add", parts...); a.status != http.StatusForbidden || a.body != "not allowed - transfer quota reached\n" {
		t.Errorf("an upload beyond it: %d %s %v", a.status, a.body, a.err)
	}
}

// planAtOnce: another plan holds from the moment that it is set.
func planAtOnce(t *testing.T, s *service) {
	n := s.tenant(t, "plan", "unlimited")
	n.add(t, "", file("x", pattern(302, 150_000)))
	for plan, want := range map[string]int{"moved": http.StatusForbidden, "unlimited": http.StatusOK} {
		if err := s.Server.Control().Accounts.SetPlan(t.Context(), operator, "a-"+n.name, plan); err != nil {
			t.Fatal(err)
		}
		if a := n.do("version"); a.status != want {
			t.Errorf("%s: %d %s", plan, a.status, a.body)
		}
	}
}

func rates(t *testing.T, s *service) {
	n := s.tenant(t, "rates", "rates")
	for command, burst := range map[string]int{"version": 5, "pin/rm?arg=QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn": 3} {
		begun, refused := time.Now(), 0
		for range 40 {
			a := n.do(command)
			if a.status == http.StatusTooManyRequests {
				refused++
				if a.body != "rate limit exceeded\n" || a.header.Get("Retry-After") != "01" {
					t.Errorf("%q, after %q", a.body, a.header.Get("Retry-After"))
				}
			}
		}
		allowed := 40 - refused
		if most := burst + int(time.Since(begun).Seconds()*float64(burst)) + 1; allowed > most || allowed < burst {
			t.Errorf("%s: %d of 40 were let through, want %d to %d", command, allowed, burst, most)
		}
	}
}

func largeFile(t *testing.T, s *service) {
	n := s.tenant(t, "large", "unlimited")
	content := file("x", pattern(400, 4<<20+1))
	cids := n.add(t, "only-hash=true", file("x", content.content[:4<<20]))
	a := n.upload("add", content)
	if a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, "4194304") {
		t.Errorf("%d %s %v", a.status, a.body, a.err)
	}
	nothingOf(t, n, cids...)
}

// sharedPins: what two accounts pin goes when both have let it go, not before.
func sharedPins(t *testing.T, s *service) {
	content := pattern(500, 500_000)
	a, b := s.tenant(t, "sharer-a", "unlimited"), s.tenant(t, "sharer-b", "unlimited")
	cid := a.add(t, "pin-name=mine", file("x", content))[0]
	if again := b.add(t, "", file("y", content))[0]; again != cid {
		t.Fatalf("%s and %s", cid, again)
	}
	if pins := b.pins(t); pins[cid].Name != "" || len(pins) == 0 {
		t.Errorf("b sees %v", pins)
	}
	a.ok(t, "pin/rm?arg="+cid)
	collect(t, s)
	if got := b.ok(t, "cat?arg="+cid); got != string(content) {
		t.Error("the content differs")
	}
	a.fails(t, "pin/rm?arg="+cid, http.StatusInternalServerError, "not pinned")
	b.ok(t, "pin/rm?arg="+cid)
	collect(t, s)
	a.fails(t, "cat?arg="+cid, http.StatusInternalServerError, "could not find "+cid)
}

// TestRepin: whatever becomes of a second pin/add, the first pin stays.
func TestRepin(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	cid := n.add(t, "chunker=size-4096&pin-name=kept", file("x", pattern(600, 8<<20)))[0]
	cut := 0
	for i := range 40 {
		wait := time.Duration(50*(i+1)) * time.Microsecond
		if n.do(fmt.Sprintf("pin/add?arg=%s&timeout=%s", cid, wait)).status != http.StatusOK {
			cut++
		}
	}
	impatient := &http.Client{Timeout: 2 * time.Millisecond, Transport: client.Transport}
	for range 10 {
		if res, err := impatient.Do(n.request(t.Context(), "pin/add?arg="+cid, "", nil)); err == nil {
			_ = res.Body.Close()
		}
	}
	n.fails(t, "pin/add?arg="+cid+"&arg=QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ", http.StatusInternalServerError, "could not find")
	if pins := n.pins(t); pins[cid].Type != "recursive" || pins[cid].Name != "kept" {
		t.Errorf("after %d cut attempts: %v", cut, pins[cid])
	}
	if cut == 0 {
		t.Error("no attempt was cut: the test shows nothing")
	}
}

// TestAtomicRemoval: pin/rm with one bad argument removes none.
func TestAtomicRemoval(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	cids := n.add(t, "", file("a", []byte("atomic a")), file("b", []byte("atomic b")), file("c", []byte("atomic c")))
	for _, bad := range []string{"QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ", "notacid", cids[0]} {
		n.fails(t, "pin/rm?arg="+strings.Join(append(cids, bad), "&arg="), http.StatusInternalServerError, `"Type":"error"`)
		if pins := n.pins(t); len(pins) != len(cids) {
			t.Errorf("with %s: %v", bad, pins)
		}
	}
	n.ok(t, "pin/rm?arg="+strings.Join(cids, "&arg="))
}
