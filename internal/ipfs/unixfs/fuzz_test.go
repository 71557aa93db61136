package unixfs

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/url"
	"path"
	"slices"
	"testing"

	"github.com/ipfs/boxo/files"
	dag "github.com/ipfs/boxo/ipld/merkledag"
	ft "github.com/ipfs/boxo/ipld/unixfs"
	"github.com/ipfs/go-cid"
	car "github.com/ipld/go-car/v2"
	"github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// FuzzAdd compares our layouts with boxo's for any content and any small options.
func FuzzAdd(f *testing.F) {
	f.Add([]byte("hello"), uint8(3), uint8(2), false, false, int8(-1))
	f.Add(bytes.Repeat([]byte("0123456789"), 100), uint8(7), uint8(3), true, true, int8(10))
	f.Fuzz(func(t *testing.T, content []byte, size, links uint8, trickled, raw bool, inline int8) {
		q := url.Values{"chunker": {"size-" + string('1'+rune(size%9))}, "max-file-links": {string('2' + rune(links%8))}}
		if trickled {
			q.Set("trickle", "")
		}
		if raw {
			q.Set("raw-leaves", "true")
		}
		if inline >= 0 {
			q.Set("inline", "true")
			q.Set("inline-limit", string('0'+rune(inline%10)))
		}
		if bytes.Contains(content, []byte(boundary)) || len(content) > 2000 {
			return
		}
		compare(t, q.Encode(), []upload{file("f", string(content))})
	})
}

// FuzzParts compares our walk through a multipart body with boxo's.
func FuzzParts(f *testing.F) {
	for _, c := range treeCases {
		f.Add(bodyOf(c.parts...))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		theirs, err := files.NewFileFromPartReader(multipart.NewReader(bytes.NewReader(body), boundary), typeForm)
		if err != nil {
			t.Fatal(err)
		}
		want, wantOK := listTheirs(theirs, "", 0)
		ours, done := New(nil).parts(t.Context(), bytes.NewReader(body), boundary, Limits{})
		defer done()
		got, gotOK := listOurs(ours, "", 0)
		if !gotOK {
			return // ours has limits that theirs has not
		}
		if !wantOK || !slices.Equal(want, got) {
			t.Errorf("%q\nwant %q %v\ngot  %q", body, want, wantOK, got)
		}
	})
}

func listTheirs(d files.Directory, at string, depth int) (list []string, ok bool) {
	it := d.Entries()
	for it.Next() {
		name := path.Join(at, it.Name())
		switch n := it.Node().(type) {
		case files.Directory:
			if depth > 70 {
				return nil, false
			}
			below, ok := listTheirs(n, name, depth+1)
			if list = append(append(list, "dir "+name), below...); !ok {
				return nil, false
			}
		case files.File:
			b, err := io.ReadAll(n)
			if err != nil {
				return nil, false
			}
			list = append(list, "file "+name+" "+string(b)+" "+n.Mode().String()+" "+n.ModTime().String())
		}
	}
	return list, it.Err() == nil
}

func listOurs(l *listing, at string, depth int) (list []string, ok bool) {
	for l.next() {
		name := path.Join(at, l.name)
		if l.isDir() {
			if depth > 70 {
				return nil, false
			}
			below, ok := listOurs(l.dir(), name, depth+1)
			if list = append(append(list, "dir "+name), below...); !ok {
				return nil, false
			}
			continue
		}
		b, err := io.ReadAll(io.LimitReader(l.part.body, 1<<20))
		if err != nil || l.part.kind == kindSymlink && len(b) > maxTarget {
			return nil, false
		}
		s := l.stat()
		list = append(list, "file "+name+" "+string(b)+" "+s.mode.String()+" "+s.mtime.String())
	}
	return list, l.err == nil
}

// FuzzNode holds our reading of blocks to boxo's.
func FuzzNode(f *testing.F) {
	c, _ := cid.Decode("QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX")
	f.Add(inner([]uint64{1, 2}, c, c))
	f.Add(simpleNode(kindDirectory, nil, stat{mode: 0o644}))
	f.Add(shardNode(256, []string{"00x"}, c))
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := decodeNode(cid.NewCidV1(cid.DagProtobuf, c.Hash()), data)
		theirs, theirErr := dag.DecodeProtobuf(data)
		if err != nil {
			return // ours may be stricter, never looser
		}
		if theirErr != nil {
			t.Fatalf("%x: we read what boxo refuses: %v", data, theirErr)
		}
		if len(n.links) != len(theirs.Links()) || !bytes.Equal(n.data, theirs.Data()) {
			t.Fatalf("%x: %d links, %x, want %d, %x", data, len(n.links), n.data, len(theirs.Links()), theirs.Data())
		}
		for i, l := range theirs.Links() {
			if n.links[i].name != l.Name || n.links[i].cid != l.Cid || n.links[i].size != l.Size {
				t.Fatalf("%x: link %d is %+v, want %+v", data, i, n.links[i], l)
			}
		}
		u, err := n.fs()
		if err != nil {
			return
		}
		fs, err := ft.FSNodeFromBytes(n.data)
		if err != nil {
			t.Skip() // theirs checks texts and enums too
		}
		if uint64(fs.Type()) != u.kind || !bytes.Equal(fs.Data(), u.data) || !slices.Equal(fs.BlockSizes(), u.blockSizes) || fs.Fanout() != u.fanout || fs.Mode() != u.stat.mode {
			t.Fatalf("%x: %+v, want %v", data, u, fs)
		}
	})
}

// FuzzLinks reads any block of any codec.
func FuzzLinks(f *testing.F) {
	f.Add(uint16(cid.DagCBOR), []byte("\xa1ehelloeworld"))
	f.Add(uint16(cid.DagJSON), []byte(`{"/":"bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"}`))
	f.Add(uint16(cid.DagCBOR), carHeader(cid.NewCidV1(cid.Raw, []byte{0x12, 1, 1}))[1:])
	f.Fuzz(func(t *testing.T, codec uint16, data []byte) {
		c := cid.NewCidV1(uint64(codec), []byte{0x12, 0})
		got, err := Links(c, data)
		if c.Type() != cid.DagCBOR {
			return
		}
		b := basicnode.Prototype.Any.NewBuilder()
		if dagcbor.Decode(b, bytes.NewReader(data)) != nil {
			return
		}
		want, theirErr := valueLinks(nil, b.Build())
		if err != nil {
			return // theirs ignores tags that dag-cbor does not allow
		}
		if theirErr != nil || !slices.Equal(got, want) {
			t.Errorf("%x: %v, %v, want %v", data, got, err, want)
		}
	})
}

// FuzzCAR imports any bytes. What we take, go-car takes too.
func FuzzCAR(f *testing.F) {
	m, out := added(f, "chunker=size-100", file("x", noise(500)))
	e, err := New(m).Export(f.Context(), out.Roots[0].CID.String(), Limits{})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.Write(f.Context(), &b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := newCARReader(bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		theirs, theirErr := car.NewBlockReader(bytes.NewReader(data))
		for {
			c, block, err := r.next()
			if err != nil {
				return
			}
			if verify(c, block) != nil {
				return
			}
			if theirErr != nil {
				t.Skip() // go-car is strict about the form of the header
			}
			if blk, err := theirs.Next(); err != nil || blk.Cid() != c {
				t.Fatalf("%x: %s, go-car %v, %v", data, c, blk, err)
			}
		}
	})
}

// FuzzPath resolves any path against a store with a directory.
func FuzzPath(f *testing.F) {
	m, out := added(f, "", file("d/e/x", "x"))
	root := out.Roots[0].CID.String()
	for _, p := range []string{root, "/ipfs/" + root + "/e/x", "ipfs://" + root, "/ipld/" + root + "/Links/0/Hash", "", "/", "/ipfs/", "ipns:x", "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "k51qzi5uqu5dlvj2baxnqndepeb86cbk3ng7n3i46uzyxzyqj2xjonzllnv0v8", "f01551220", "zb2rhZfjRh2FHHB2RkHVEvL2vJnCTcu7kwRqgVsf9gpkLgteo"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		o := New(m)
		if r, err := o.Resolve(t.Context(), p); err == nil && !r.CID.Defined() {
			t.Errorf("%q leads nowhere", p)
		}
		if c, ok := bareCID(p); ok {
			if long, err := parsePath(p); err != nil || !long.RootCid().Equals(c) || len(long.Segments()) != 2 {
				t.Errorf("%q is read as %s, and the general way as %v, %v", p, c, long, err)
			}
		}
		_, _ = o.DagGet(t.Context(), p, "dag-json")
	})
}

// FuzzOptions parses any query.
func FuzzOptions(f *testing.F) {
	for _, q := range queryCases {
		f.Add(q)
	}
	body := bodyOf(file("d/a", noise(300)), directory("d/e"))
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		opts, err := ParseAdd(NewQuery(values), Limits{})
		if err != nil {
			return
		}
		_, _ = New(nil).Add(t.Context(), discard{}, bytes.NewReader(body), boundary, opts, func(Event) {})
		_, _ = ParseBlockPut(NewQuery(values), Limits{})
		_, _ = ParseDagPut(NewQuery(values), Limits{})
	})
}
