package unixfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	blocks "github.com/ipfs/go-block-format"
	"github.com/ipfs/go-cid"
	car "github.com/ipld/go-car/v2"
	"github.com/ipld/go-car/v2/storage"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
)

func query(t testing.TB, text string) *Query {
	t.Helper()
	values, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return NewQuery(values)
}

// TestManyBlocksHoldLittle: what was read of a block is given back before the next one, so
// that the number of blocks in a request is no matter of memory.
func TestManyBlocksHoldLittle(t *testing.T) {
	var parts []upload
	for i := range 1000 {
		parts = append(parts, file("x", strconv.Itoa(i)))
	}
	body := bodyOf(parts...)
	for name, put := range map[string]func(ctx context.Context, o *Objects, b Batch) ([]Put, error){
		"block/put": func(ctx context.Context, o *Objects, b Batch) ([]Put, error) {
			opts, _ := ParseBlockPut(query(t, ""), Limits{})
			return o.BlockPut(ctx, b, bytes.NewReader(body), boundary, opts)
		},
		"dag/put": func(ctx context.Context, o *Objects, b Batch) ([]Put, error) {
			opts, _ := ParseDagPut(query(t, ""), Limits{})
			return o.DagPut(ctx, b, bytes.NewReader(body), boundary, opts)
		},
	} {
		all := budget.New(budget.Config{Process: 1 << 30, Account: 4 << 20})
		hold := all.Hold("a")
		m := newMemory(t)
		list, err := put(budget.WithHold(t.Context(), &hold), New(m), m.Begin("a", -1))
		if err != nil || len(list) != 1000 {
			t.Errorf("%s: %d blocks, %v, %+v", name, len(list), err, all.Usage())
		}
		hold.Release()
	}
}

func TestBlockPut(t *testing.T) {
	const digest = "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"
	for _, c := range []struct{ query, want, message string }{
		{"", digest, ""},
		{"cid-codec=raw&mhtype=sha2-256&mhlen=32", digest, ""},
		{"format=v0", "QmRN6wdp1S2A5EtjW9A3M1vKSBuQQGcgvuhoMUoEz4iiT5", ""},
		{"format=protobuf", "bafybeibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", ""},
		{"cid-codec=dag-cbor", "bafyreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", ""},
		{"format=cbor", "bafyreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", ""},
		{"mhtype=identity", "bafkqabliMVWGY3Y", "?"},
		{"mhtype=nope", "", "unrecognized multihash function: nope"},
		{"cid-codec=nope", "", `unknown multicodec: "nope"`},
		{"format=v0&cid-codec=dag-pb", "", `unable to use "format" (deprecated) and a custom "cid-codec" at the same time`},
		{"format=v0&mhtype=sha1", "", "only sha2-255-32 is allowed with CIDv0"},
		{"mhtype=md5", "", "potentially insecure hash functions not allowed"},
		{"mhlen=x", "", `could not convert value "x" to type "int" (for option "-mhlen")`},
		{"mhlen=10", "", "digest too small: sha2-256 digest got 10 bytes, minimum 20"},
	} {
		m := newMemory(t)
		opts, err := ParseBlockPut(query(t, c.query), Limits{})
		var list []Put
		if err == nil {
			list, err = New(m).BlockPut(t.Context(), m.Begin("a", -1), bytes.NewReader(bodyOf(file("x", "hello"))), boundary, opts)
		}
		switch {
		case c.message == "?":
			if err != nil || len(list) != 1 || list[0].CID.Prefix().MhType != multihash.IDENTITY {
				t.Errorf("%s: %v, %v", c.query, list, err)
			}
		case c.message != "":
			if messageOf(err) != c.message {
				t.Errorf("%s: %v, want %s", c.query, err, c.message)
			}
		case err != nil || len(list) != 1 || list[0].CID.String() != c.want || list[0].Size != 5:
			t.Errorf("%s: %v, %v, want %s", c.query, list, err, c.want)
		}
	}
	m := newMemory(t)
	opts, _ := ParseBlockPut(query(t, ""), Limits{})
	_, err := New(m).BlockPut(t.Context(), m.Begin("a", -1), bytes.NewReader(bodyOf(file("x", noise(MaxBlock+1)))), boundary, opts)
	if !errors.Is(err, nodegate.ExecutionFailed) || !strings.HasPrefix(messageOf(err), "produced block is over 2MiB") {
		t.Error(err)
	}
	if _, err := New(m).BlockPut(t.Context(), m.Begin("a", -1), bytes.NewReader(bodyOf(file("d/x", "1"))), boundary, opts); messageOf(err) != "expected a file" {
		t.Error(err)
	}
}

// dagPut puts values and commits them.
func dagPut(t *testing.T, m *memory, options string, values ...string) ([]Put, error) {
	t.Helper()
	opts, err := ParseDagPut(query(t, options), Limits{})
	if err != nil {
		return nil, err
	}
	var parts []upload
	for _, v := range values {
		parts = append(parts, file("v", v))
	}
	batch := m.Begin("a", -1)
	list, err := New(m).DagPut(t.Context(), batch, bytes.NewReader(bodyOf(parts...)), boundary, opts)
	if err != nil {
		return nil, err
	}
	return list, batch.Commit(t.Context())
}

func TestDag(t *testing.T) {
	m := newMemory(t)
	o := New(m)
	leaf, err := dagPut(t, m, "", `{"hello":"world"}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "bafyreidykglsfhoixmivffc5uwhcgshx4j465xwqntbmu43nb2dzqwfvae"; leaf[0].CID.String() != want {
		t.Errorf("CID %s, want %s", leaf[0].CID, want)
	}
	top, err := dagPut(t, m, "pin=true", fmt.Sprintf(`{"list":[1,{"/":"%s"},{"deep":true}],"text":"x"}`, leaf[0].CID))
	if err != nil {
		t.Fatal(err)
	}
	root := top[0].CID.String()
	if p := m.pins[root]; p.Size != 2*nodegate.MinBlockCharge || !p.Recursive {
		t.Errorf("pin %+v", p)
	}
	for _, c := range []struct{ path, codec, want, message string }{
		{root + "/text", "dag-json", `"x"`, ""},
		{root + "/list/1/hello", "dag-json", `"world"`, ""},
		{"/ipld/" + root + "/list/2", "dag-json", `{"deep":true}`, ""},
		{root + "/list/1", "dag-cbor", "\xa1ehelloeworld", ""},
		{root + "/none", "dag-json", "", `key not found: "none"`},
		{root + "/none/x", "dag-json", "", fmt.Sprintf("no link named %q under %s", "none", root)},
		{root, "nope", "", `unknown multicodec: "nope"`},
		{root, "sha1", "", "invalid encoding: sha1 - no encoder registered for multicodec code 17 (0x11)"},
	} {
		got, err := o.DagGet(t.Context(), c.path, c.codec)
		if string(got) != c.want || messageOf(err) != c.message {
			t.Errorf("dag get %s: %q, %v, want %q, %q", c.path, got, err, c.want, c.message)
		}
	}
	r, err := o.Resolve(t.Context(), root+"/list/2/deep")
	if err != nil || r.CID.String() != root || r.RestPath() != "/list/2/deep" {
		t.Errorf("resolve: %+v, %v", r, err)
	}
	if r, err = o.Resolve(t.Context(), root+"/list/1"); err != nil || r.CID != leaf[0].CID || r.RestPath() != "" {
		t.Errorf("resolve: %+v, %v", r, err)
	}
	if _, err := o.Cat(t.Context(), []string{root}, Span{ToEnd: true}); messageOf(err) != "unknown node type" {
		t.Errorf("cat of a value: %v", err)
	}
}

func TestDagCodecs(t *testing.T) {
	m := newMemory(t)
	for _, c := range []struct{ options, value, want string }{
		{"store-codec=dag-json", `{"a":1}`, ""},
		{"store-codec=raw&input-codec=raw", "bytes", ""},
		{"store-codec=dag-pb", `{"Data":{"/":{"bytes":"CAE"}},"Links":[]}`, ""},
		{"hash=blake3", `[]`, ""},
		{"store-codec=nope", `1`, `unknown multicodec: "nope"`},
		{"store-codec=sha1", `1`, "no encoder registered for multicodec code 17 (0x11)"},
		{"", `{`, "EOF"},
		{"pin=true", `{"/":"bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"}`, "block was not found locally (offline): ipld: could not find bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"},
		{"", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "message structure exceeded maximum nesting depth"},
	} {
		if _, err := dagPut(t, m, c.options, c.value); messageOf(err) != c.want {
			t.Errorf("%s %.30s: %v, want %q", c.options, c.value, err, c.want)
		}
	}
	got, err := New(m).DagGet(t.Context(), "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354", "dag-json")
	if err != nil || string(got) != `{"Data":{"/":{"bytes":"CAE"}},"Links":[]}` {
		t.Errorf("empty directory: %s, %v", got, err)
	}
}

// carOf writes a CAR with a root and some blocks, right or wrong.
func carOf(root cid.Cid, list ...blocks.Block) []byte {
	b := carHeader(root)
	for _, blk := range list {
		b = binary.AppendUvarint(b, uint64(blk.Cid().ByteLen()+len(blk.RawData())))
		b = append(b, blk.Cid().Bytes()...)
		b = append(b, blk.RawData()...)
	}
	return b
}

func importCAR(t *testing.T, m *memory, options string, cars ...[]byte) (*Imported, error) {
	t.Helper()
	opts, err := ParseImport(query(t, options), Limits{Blocks: 1000})
	if err != nil {
		return nil, err
	}
	var parts []upload
	for _, c := range cars {
		parts = append(parts, file("c", string(c)))
	}
	batch := m.Begin("a", -1)
	in, err := New(m).Import(t.Context(), batch, bytes.NewReader(bodyOf(parts...)), boundary, opts)
	if err != nil {
		return nil, err
	}
	return in, batch.Commit(t.Context())
}

// TestCAR exports what was added, compares with go-car, and imports it elsewhere.
func TestCAR(t *testing.T) {
	content := noise(3_000)
	m, out := added(t, "chunker=size-100&max-file-links=5", file("d/f", content), file("d/g", content[:500]))
	root := out.Roots[0].CID
	e, err := New(m).Export(t.Context(), root.String(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var v1 bytes.Buffer
	if err := e.Write(t.Context(), &v1); err != nil {
		t.Fatal(err)
	}
	r, err := car.NewBlockReader(bytes.NewReader(v1.Bytes()))
	if err != nil || len(r.Roots) != 1 || r.Roots[0] != root {
		t.Fatalf("go-car: %v", err)
	}
	n := 0
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(m.blocks) {
		t.Errorf("%d blocks of %d", n, len(m.blocks))
	}
	var v2 bytes.Buffer
	if err := car.WrapV1(bytes.NewReader(v1.Bytes()), &v2); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"v1": v1.Bytes(), "v2": v2.Bytes()} {
		other := newMemory(t)
		in, err := importCAR(t, other, "", data)
		if err != nil {
			t.Fatal(name, err)
		}
		if want := []ImportedRoot{{CID: root}}; cmp.Diff(want, in.Roots, cmp.Comparer(cid.Cid.Equals)) != "" || in.Blocks != int64(n) {
			t.Errorf("%s: %+v", name, in)
		}
		if got, err := whole(t, New(other), Span{ToEnd: true}, root.String()+"/f"); err != nil || got != content {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if p := other.pins[root.String()]; p.Size != out.Roots[0].Stored {
			t.Errorf("%s: pin %+v, want size %d", name, p, out.Roots[0].Stored)
		}
	}
	if _, err := storage.OpenReadable(bytes.NewReader(v2.Bytes())); err != nil {
		t.Fatal(err)
	}
}

func TestCARRefused(t *testing.T) {
	good := blocks.NewBlock([]byte{0x0a, 2, 8, 1})
	raw := func(data string) blocks.Block {
		c, _ := cid.Prefix{Version: 1, Codec: cid.Raw, MhType: multihash.SHA2_256, MhLength: -1}.Sum([]byte(data))
		b, _ := blocks.NewBlockWithCid([]byte(data), c)
		return b
	}
	as := func(c cid.Cid, data string) blocks.Block {
		b, _ := blocks.NewBlockWithCid([]byte(data), c)
		return b
	}
	long, _ := cid.Prefix{Version: 1, Codec: cid.Raw, MhType: multihash.IDENTITY, MhLength: -1}.Sum([]byte(noise(200)))
	weak, _ := cid.Prefix{Version: 1, Codec: cid.Raw, MhType: multihash.MD5, MhLength: -1}.Sum([]byte("x"))
	garbage := cid.NewCidV1(cid.DagProtobuf, raw("garbage").Cid().Hash())
	root := good.Cid()
	whole := carOf(root, good, raw("x"))
	var many []blocks.Block
	for i := range 1001 {
		many = append(many, raw(fmt.Sprint(i)))
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"wrong hash", carOf(root, good, as(raw("a").Cid(), "b")), fmt.Sprintf("import failed at block %q: mismatch in content integrity", raw("a").Cid())},
		{"not dag-pb", carOf(root, as(garbage, "garbage")), fmt.Sprintf("import failed at block %q: failed to decode Protocol Buffers", garbage)},
		{"long identity", carOf(root, as(long, noise(200))), fmt.Sprintf("import failed at block %q: digest too large", long)},
		{"weak hash", carOf(root, as(weak, "x")), fmt.Sprintf("import failed at block %q: potentially insecure hash functions not allowed", weak)},
		{"cut", whole[:len(whole)-1], fmt.Sprintf("import failed after block %q: unexpected EOF", root)},
		{"empty", nil, "unexpected EOF"},
		{"long header", binary.AppendUvarint(nil, 1<<40), "invalid header"},
		{"header only", carOf(root)[:20], "unexpected EOF"},
		{"no header", append([]byte{5}, "xxxxx"...), "invalid header"},
		{"long section", append(carOf(root), binary.AppendUvarint(nil, 1<<40)...), "import failed: invalid section data"},
		{"empty section", append(carOf(root), 0), "import failed: invalid section data"},
		{"many blocks", carOf(root, many...), "too many blocks"},
		{"version 3", append([]byte{10, 0xa1, 0x67}, "version\x03"...), "invalid car version: 3"},
		{"version 2 with a wild offset", append(append([]byte{10, 0xa1, 0x67}, "version\x02"...), bytes.Repeat([]byte{0xff}, 40)...), "invalid car: malformed data offset or size"},
	} {
		m := newMemory(t)
		if _, err := importCAR(t, m, "", c.data); !strings.HasPrefix(messageOf(err), c.want) || err == nil {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if len(m.blocks) > 0 || len(m.pins) > 0 {
			t.Errorf("%s: something was stored", c.name)
		}
	}
	m := newMemory(t)
	in, err := importCAR(t, m, "", carOf(raw("missing").Cid(), good))
	if err != nil || in.Roots[0].PinError == "" || len(m.pins) != 0 {
		t.Errorf("a root without its block: %+v, %v", in, err)
	}
	if in, err = importCAR(t, m, "pin-roots=false", whole); err != nil || len(m.pins) != 0 || in.Blocks != 2 {
		t.Errorf("without pins: %+v, %v", in, err)
	}
	if _, err := importCAR(t, m, "local-only=true&pin-roots=true", whole); !errors.Is(err, nodegate.ExecutionFailed) {
		t.Error(err)
	}
}
