package chaos

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileNames try to leave the folder that they are put in.
func hostileNames() (list []string) {
	for _, up := range []string{"../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%252f", "..\\\\", "..%5c", "..%c0%af", "..;/", "....//", ".%2e/", "%2e./"} {
		for _, to := range []string{"etc/escaped", "data/pepper", "work/escaped", "tmp/escaped"} {
			list = append(list, strings.Repeat(up, 4)+to)
		}
	}
	return append(list, "/etc/escaped", "//etc/escaped", "%2fetc%2fescaped", "C:\\\\escaped", "\\\\\\\\host\\\\escaped", "file:///escaped", "~/escaped", "$HOME/escaped",
		"a/../../escaped", "a/b/../../../escaped", "a%00b", "%00", "a%0d%0aX: y", ".", "..", "/", "", "%", "%zz", "a/./../..", "con", "nul", "-rf", "--", "*", "?", "|id", "`id`")
}

// TestHostileNames is one half of row 26: names that try to leave, as files, folders
// and targets of links.
func TestHostileNames(t *testing.T) {
	names := hostileNames()
	o := begin(t, 26, fmt.Sprintf("%d hostile names, each as a file, a folder and a link", len(names)), "inside their root or refused; nothing written outside the data folder")
	b := newSandbox(t)
	p := b.start()
	before := outside(t, b)
	kept, refused := 0, 0
	for _, name := range names {
		for _, kind := range []string{"text/plain", "application/x-directory", "application/symlink"} {
			content := name
			if kind == "application/x-directory" {
				content = ""
			}
			r := p.post("add?wrap-with-directory=true", "multipart/form-data; boundary="+boundary, strings.NewReader(partHead(name, kind)+content+"\r\n"+closing))
			if r.status != http.StatusOK {
				refused++
				continue
			}
			kept++
			checkNames(t, p, name, kind, r.body)
		}
	}
	o.say("%d kept inside, %d refused, %d files outside changed", kept, refused, changes(t, before, outside(t, b)))
	if kept == 0 || refused == 0 {
		t.Error(o.measured)
	}
}

// checkNames looks at the names in an answer, and at those in the tar of its root.
func checkNames(t *testing.T, p *program, name, kind, lines string) {
	t.Helper()
	root := ""
	for line := range strings.Lines(lines) {
		var e struct{ Name, Hash string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if strings.HasPrefix(e.Name, "/") || strings.Contains("/"+e.Name+"/", "/../") {
			t.Errorf("%q as %s is answered as %q", name, kind, e.Name)
		}
		root = e.Hash
	}
	archive := p.post("get?arg="+root, "", nil)
	if archive.status != http.StatusOK {
		return // refused, or broken off: nothing is unpacked
	}
	for r := tar.NewReader(strings.NewReader(archive.body)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%q as %s: %v", name, kind, err)
			return
		}
		if !filepath.IsLocal(h.Name) {
			t.Errorf("%q as %s leaves the archive as %q", name, kind, h.Name)
		}
	}
}

// outside is all that is in the sandbox and not in the store's own folders, with what
// the files hold.
func outside(t *testing.T, b *sandbox) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := walk(b.root, func(path string, info os.FileInfo) {
		rel, _ := filepath.Rel(b.root, path) // below it
		if own := filepath.ToSlash(rel); strings.HasPrefix(own, "data/storage") || strings.HasPrefix(own, "data/networks") || strings.HasPrefix(own, "data/nodegate.db") {
			return
		}
		data, err := os.ReadFile(path)
		if err != nil && !info.IsDir() {
			data = []byte(err.Error())
		}
		all[rel] = fmt.Sprint(info.Mode(), sha256.Sum256(data))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// walk goes through a folder; what vanishes meanwhile is passed over.
func walk(dir string, visit func(string, os.FileInfo)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && path != dir {
			if info, err := d.Info(); err == nil {
				visit(path, info)
			}
		}
		return nil
	})
}

// changes reports and counts what differs.
func changes(t *testing.T, before, after map[string]string) (n int) {
	t.Helper()
	for path, was := range before {
		if after[path] != was {
			n++
			t.Errorf("%s was changed or removed", path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			n++
			t.Errorf("%s was made", path)
		}
	}
	return n
}

// TestHostileCARs is the other half of row 26.
func TestHostileCARs(t *testing.T) {
	cars := hostileCARs()
	o := begin(t, 26, fmt.Sprintf("%d hostile CARs: wrong hashes, identity CID of 1 MB, 1 M links, depth 20,000, ...", len(cars)), "refused, nothing pinned or written outside, memory below +100 MB")
	b := newSandbox(t)
	p := b.start()
	before := outside(t, b)
	var highest int64
	for name, car := range cars {
		grown := p.growth(func() {
			kind, data := form("hostile.car", car)
			r := p.post("dag/import", kind, bytes.NewReader(data))
			if r.status == http.StatusOK && !strings.Contains(r.body, `"PinErrorMsg":"`) || strings.Contains(r.body, `"PinErrorMsg":""`) {
				t.Errorf("%s: %d %.300s", name, r.status, r.body)
			}
		})
		highest = max(highest, grown)
	}
	if pins := p.pins(); len(pins) != 0 {
		t.Errorf("pinned: %v", pins)
	}
	o.say("all refused, 0 pins, memory +%d MB at most, %d files outside changed", highest>>20, changes(t, before, outside(t, b)))
	if highest > 100<<20 {
		t.Error(o.measured)
	}
	if r := p.post("cat?arg="+url.QueryEscape("../../data/pepper"), "", nil); r.status < 400 {
		t.Errorf("a path as a CID: %d %s", r.status, r.body)
	}
}

// The pieces of CIDs and CARs, by hand: no library would write what is needed here.
const (
	codecRaw  = 0x55
	codecPB   = 0x70
	codecCBOR = 0x71
)

func uvarint(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// hashed is the CID of data.
func hashed(codec byte, data []byte) []byte {
	sum := sha256.Sum256(data)
	return join([]byte{1, codec, 0x12, 0x20}, sum[:])
}

// identity is a CID that carries its data itself.
func identity(data []byte) []byte {
	return join([]byte{1, codecRaw, 0}, uvarint(uint64(len(data))), data)
}

// carHeader is {"roots": [root], "version": 1} in CBOR, behind its length.
func carHeader(root []byte) []byte {
	length := binary.BigEndian.AppendUint32([]byte{0x5a}, uint32(len(root)+1))
	b := join([]byte("\xa2\x65roots\x81\xd8\x2a"), length, []byte{0}, root, []byte("\x67version\x01"))
	return join(uvarint(uint64(len(b))), b)
}

func section(cid, data []byte) []byte {
	return join(uvarint(uint64(len(cid)+len(data))), cid, data)
}

// pbLink is a dag-pb node's link.
func pbLink(cid []byte) []byte {
	link := join([]byte{0x0a}, uvarint(uint64(len(cid))), cid, []byte{0x12, 0, 0x18, 1})
	return join([]byte{0x12}, uvarint(uint64(len(link))), link)
}

// hostileCARs have one thing wrong each.
func hostileCARs() map[string][]byte {
	good := []byte("good")
	leaf := hashed(codecRaw, good)
	missing := hashed(codecRaw, []byte("never sent"))
	manyLinks := bytes.Repeat(pbLink(leaf), 1_000_000)
	fullBlock := bytes.Repeat(pbLink(identity(nil)), (2<<20)/len(pbLink(identity(nil)))) // more links than a block may have, in 2 MiB
	deepCBOR := join(bytes.Repeat([]byte{0x81}, 100_000), []byte{0})
	huge := identity(make([]byte, 1<<20))
	onHuge := pbLink(huge)
	chainRoot, chain := deepChain(20_000)
	withMissing := pbLink(missing)
	wide := section(hashed(codecPB, fullBlock), fullBlock)
	return map[string][]byte{
		"wrong hash":                  join(carHeader(leaf), section(leaf, []byte("evil"))),
		"wrong hash behind a good":    join(carHeader(leaf), section(leaf, good), section(missing, []byte("evil"))),
		"identity CID of 1 MB":        join(carHeader(huge), section(huge, make([]byte, 1<<20))),
		"link to an identity of 1 MB": join(carHeader(hashed(codecPB, onHuge)), section(hashed(codecPB, onHuge), onHuge)),
		"1,000,000 links":             join(carHeader(hashed(codecPB, manyLinks)), section(hashed(codecPB, manyLinks), manyLinks)),
		"as many links as fit":        join(carHeader(hashed(codecPB, fullBlock)), wide),
		"a chain of 20,000 nodes":     join(carHeader(chainRoot), chain),
		"values 100,000 deep":         join(carHeader(hashed(codecCBOR, deepCBOR)), section(hashed(codecCBOR, deepCBOR), deepCBOR)),
		"a root that is not there":    join(carHeader(missing), section(leaf, good)),
		"a link to nothing":           join(carHeader(hashed(codecPB, withMissing)), section(hashed(codecPB, withMissing), withMissing)),
		"cut in a block":              join(carHeader(leaf), section(leaf, good)[:20]),
		"a section of 2^62 bytes":     join(carHeader(leaf), uvarint(1<<62), leaf),
		"a section of no bytes":       join(carHeader(leaf), []byte{0}, section(missing, good)),
		"a header of 2^62 bytes":      join(uvarint(1<<62), good),
		"a header of 64 MB":           join(uvarint(64<<20), bytes.Repeat([]byte{0x81}, 64<<20)),
		"no roots":                    join(uvarint(17), []byte("\xa2\x65roots\x80\x67version\x01"), section(leaf, []byte("evil"))),
		"version 9":                   bytes.Replace(carHeader(leaf), []byte("version\x01"), []byte("version\x09"), 1),
		"a CARv2 that lies":           join([]byte("\x0a\xa1gversion\x02"), bytes.Repeat([]byte{0xff}, 40), good),
		"an insecure hash":            join(carHeader(leaf), section(join([]byte{1, codecRaw, 0xd5, 1, 16}, make([]byte, 16)), good)),
		"a short digest":              join(carHeader(leaf), section([]byte{1, codecRaw, 0x12, 1, 0}, good)),
		"nothing":                     nil,
		"noise":                       pattern(7, 100_000),
	}
}

// deepChain is a chain of nodes, which comes as close to a cycle as hashes allow.
func deepChain(depth int) (root, sections []byte) {
	node := []byte{}
	root = hashed(codecPB, node)
	list := [][]byte{section(root, node)}
	for range depth {
		node = pbLink(root)
		root = hashed(codecPB, node)
		list = append(list, section(root, node))
	}
	return root, join(list...)
}
