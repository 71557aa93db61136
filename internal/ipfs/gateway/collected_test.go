package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/test/full"
)

// field appends a field of a protobuf message that has a length.
func field(b []byte, number byte, value []byte) []byte {
	b = binary.AppendUvarint(append(b, number<<3|2), uint64(len(value)))
	return append(b, value...)
}

// wideFolder is a directory of files whose CIDs hold their content.
func wideFolder(t *testing.T, entries int, name func(i int) string) []byte {
	t.Helper()
	var b []byte
	for i := range entries {
		hash, err := multihash.Sum([]byte(fmt.Sprint(i)), multihash.IDENTITY, -1)
		if err != nil {
			t.Fatal(err)
		}
		link := field(field(nil, 1, cid.NewCidV1(cid.Raw, hash).Bytes()), 2, []byte(name(i)))
		b = field(b, 2, link)
	}
	return field(b, 1, []byte{8, 1})
}

var keyInAnswer = regexp.MustCompile(`"Key":"([^"]+)"`)

// putBlock stores a dag-pb block and returns its CID.
func putBlock(t *testing.T, srv *httptest.Server, block []byte) string {
	t.Helper()
	w, done := upload(t, srv, "a", "block/put?cid-codec=dag-pb")
	_, _ = w.Write(block)
	_ = w.Close()
	answer := <-done
	found := keyInAnswer.FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("block/put answered %s", answer)
	}
	return found[1]
}

// askLines sends a command with its arguments in the body, and returns the status and what
// could be read of the answer.
func askLines(t *testing.T, srv *httptest.Server, command string, args ...string) (status int, size int64, begin string, err error) {
	t.Helper()
	body := new(bytes.Buffer)
	form := multipart.NewWriter(body)
	file, _ := form.CreateFormFile("file", "f")
	_, _ = io.WriteString(file, strings.Join(args, "\n"))
	_ = form.Close()
	req, err := http.NewRequest(http.MethodPost, srv.URL+"/"+command, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-Account", "a")
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(res.Body, head)
	rest, err := io.Copy(io.Discard, res.Body)
	return res.StatusCode, int64(n) + rest, string(head[:n]), err
}

func repeated(arg string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = arg
	}
	return list
}

func numbered(i int) string { return fmt.Sprint("n", i) }

// TestListingOfManyArguments: what ls collects is reserved, and its limits are for all of its
// arguments together. One directory named thousands of times would take all memory.
func TestListingOfManyArguments(t *testing.T) {
	full.Slow(t)
	srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
	dir := putBlock(t, srv, wideFolder(t, 20_000, numbered))
	if status, size, begin, err := askLines(t, srv, "ls", dir); status != 200 || err != nil || b.Usage().Highest < 2<<20 {
		t.Errorf("one directory: %d, %d bytes, %v, %+v: %.100s", status, size, err, b.Usage(), begin)
	}
	if status, size, begin, _ := askLines(t, srv, "ls", repeated(dir, 100)...); status != 413 || size > 1000 {
		t.Errorf("a hundred: %d, %d bytes: %.300s", status, size, begin)
	}
	settled(t, b, 0)
	streamed := 20
	if testing.Short() {
		streamed = 3
	}
	status, size, _, err := askLines(t, srv, "ls?stream=true", repeated(dir, streamed)...)
	if status != 200 || err != nil || size < int64(streamed)*20_000*150 {
		t.Errorf("%d as a stream: %d, %d bytes, %v", streamed, status, size, err)
	}
	settled(t, b, 0)
	if u := b.Usage(); u.Highest > 8<<20 {
		t.Errorf("%+v", u)
	}
	if testing.Short() {
		return // a million entries take minutes under the race detector
	}
	if status, size, _, err := askLines(t, srv, "ls?stream=true", repeated(dir, 60)...); status != 200 || err == nil || size > 60*20_000*200 {
		t.Errorf("sixty as a stream: %d, %d bytes, %v; want it cut off", status, size, err)
	}
	settled(t, b, 0)
	if u := b.Usage(); u.Highest > 8<<20 {
		t.Errorf("%+v", u)
	}
}

// TestReadingOfManyArguments: cat opens all files before it answers.
func TestReadingOfManyArguments(t *testing.T) {
	srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
	var block []byte
	sizes := []byte{8, 2}
	for range 20_000 {
		hash, _ := multihash.Sum(nil, multihash.IDENTITY, -1)
		block = field(block, 2, field(nil, 1, cid.NewCidV1(cid.Raw, hash).Bytes()))
		sizes = append(sizes, 4<<3, 0)
	}
	file := putBlock(t, srv, field(block, 1, sizes))
	if status, _, begin, err := askLines(t, srv, "cat", file); status != 200 || err != nil {
		t.Errorf("one file: %d, %v: %s", status, err, begin)
	}
	if status, _, begin, _ := askLines(t, srv, "cat", repeated(file, 100)...); status != 413 {
		t.Errorf("a hundred: %d: %.300s", status, begin)
	}
	settled(t, b, 0)
}

// TestLongNamesInRefs: a client chooses how often a name is in each line.
func TestLongNamesInRefs(t *testing.T) {
	srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
	dir := putBlock(t, srv, wideFolder(t, 2, func(int) string { return strings.Repeat("n", 200_000) }))
	status, size, begin, _ := askLines(t, srv, "refs?format="+strings.Repeat("%3Clinkname%3E", 1000), dir)
	if status != 413 || size > 1000 {
		t.Errorf("%d, %d bytes: %.300s", status, size, begin)
	}
	settled(t, b, 0)
}

// TestDifferenceOfLongPaths: each change has the whole path to it, and its names are the
// client's choice.
func TestDifferenceOfLongPaths(t *testing.T) {
	srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
	outer := func(inner string) string {
		id, err := cid.Decode(inner)
		if err != nil {
			t.Fatal(err)
		}
		link := field(field(nil, 1, id.Bytes()), 2, []byte(strings.Repeat("n", 100_000)))
		return putBlock(t, srv, field(field(nil, 2, link), 1, []byte{8, 1}))
	}
	from := outer(putBlock(t, srv, wideFolder(t, 1000, numbered)))
	to := outer(putBlock(t, srv, wideFolder(t, 1, func(int) string { return "other" })))
	if status, size, begin, _ := askLines(t, srv, "object/diff?arg="+from+"&arg="+to); status != 413 || size > 1000 {
		t.Errorf("%d, %d bytes: %.300s", status, size, begin)
	}
	settled(t, b, 0)
}

// TestWalksAreReserved: what a walk keeps track of is reserved while it lasts, and given back.
func TestWalksAreReserved(t *testing.T) {
	for _, command := range []string{"dag/stat", "pin/add", "refs?unique=true&recursive=true", "get"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			srv, b := budgeted(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
			dir := putBlock(t, srv, wideFolder(t, 20_000, numbered))
			if status, _, begin, err := askLines(t, srv, command, dir); status != 200 || err != nil {
				t.Errorf("%d, %v: %.300s", status, err, begin)
			}
			settled(t, b, 0)
			if u := b.Usage(); u.Highest < 2<<20 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// pinMany pins content that its CIDs hold themselves.
func pinMany(t *testing.T, g *Gateway, n int) {
	t.Helper()
	b := g.cfg.Engine.Begin("a", 0)
	for i := range n {
		hash, err := multihash.Sum([]byte(fmt.Sprint(i)), multihash.IDENTITY, -1)
		if err != nil {
			t.Fatal(err)
		}
		b.Pin(nodegate.Pin{CID: cid.NewCidV1(cid.Raw, hash).String(), Name: fmt.Sprint("pin ", i), Recursive: true, Created: time.Now()})
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestListingOfManyPins: an account may have millions of pins. What a list of them keeps is
// reserved and bounded.
func TestListingOfManyPins(t *testing.T) {
	const pins = 3 * fewKeys
	for command, reserved := range map[string]int64{
		"pin/ls": 4 << 20, "pin/ls?names=true&type=recursive": 2 << 20, "pin/ls?stream=true": 1 << 20, "pin/verify?verbose=true": 1 << 20,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			srv, g := served(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
			pinMany(t, g, pins)
			req, _ := http.NewRequest(http.MethodPost, srv.URL+"/"+command, nil)
			req.Header.Set("X-Account", "a")
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || bytes.Count(text, []byte("bafkqa")) != pins {
				t.Errorf("%d, %v, %d pins", res.StatusCode, err, bytes.Count(text, []byte("bafkqa")))
			}
			var keys struct{ Keys map[string]pinKey }
			if strings.HasPrefix(string(text), `{"Keys"`) {
				if err := json.Unmarshal(text, &keys); err != nil || len(keys.Keys) != pins {
					t.Errorf("%d pins in the answer, %v", len(keys.Keys), err)
				}
			}
			settled(t, g.cfg.Memory, 0)
			if u := g.cfg.Memory.Usage(); u.Highest < reserved {
				t.Errorf("%+v, want at least %d", u, reserved)
			}
		})
	}
}

// TestInShare: a list for somebody else than a client of the gateway is one of the account's
// heavy requests.
func TestInShare(t *testing.T) {
	full.Slow(t)
	_, g := served(t, budget.Config{Process: 64 << 20, Account: 8 << 20})
	inside := 0
	var nested func(context.Context) error
	nested = func(ctx context.Context) error {
		if inside++; g.shares.heavy.Used() != inside || fairshare.Slots(ctx) == 0 || budget.From(ctx) == nil {
			t.Errorf("%d heavy requests, %d slots", g.shares.heavy.Used(), fairshare.Slots(ctx))
		}
		return g.InShare(t.Context(), "a", nested)
	}
	if err := g.InShare(t.Context(), "a", nested); !errors.Is(err, nodegate.AccountBusy) || inside != g.shares.mostHeavy {
		t.Errorf("%d at once, %v", inside, err)
	}
}
