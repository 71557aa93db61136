package blockstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// fileOf is the segment that holds a block, and where the block's bytes begin.
func fileOf(t *testing.T, s *Store, c cid.Cid) (path string, off int64) {
	t.Helper()
	e, ok, err := s.index.block(c.Hash())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return filepath.Join(s.cfg.Dir, "segments", segmentName(e.segment)), e.off + recordHeader + int64(len(c.Hash()))
}

// flip changes one byte of a file.
func flip(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, off)
	b[0] ^= 0x10
	_, werr := f.WriteAt(b, off)
	if err := errors.Join(err, werr, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Ten blocks have a flipped bit, ten are cut off, wherever that is. All are found,
// none is served, the rest is whole, and adding them again heals them.
func TestBitRot(t *testing.T) {
	var report bytes.Buffer
	cfg := testConfig(t)
	cfg.SegmentBytes = 40_000
	cfg.Log = slog.New(slog.NewTextHandler(&report, nil))
	s := open(t, cfg)
	var list []cid.Cid
	for i := range 60 {
		list = append(list, mustAdd(t, s, content(i, 10_000)))
	}
	damaged := map[int]bool{}
	for i := 0; i < 30; i += 3 {
		path, off := fileOf(t, s, list[i])
		flip(t, path, off+int64(i*300))
		damaged[i] = true
	}
	for i := 30; i < 60; i += 3 {
		path, off := fileOf(t, s, list[i])
		for j := range list { // what stands behind it in the file goes too
			if p, o := fileOf(t, s, list[j]); p == path && o >= off {
				damaged[j] = true
			}
		}
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if info.Size() > off+5000 {
			if err := os.Truncate(path, off+5000); err != nil {
				t.Fatal(err)
			}
		}
	}
	s = reopen(t, s)
	if err := s.Scrub(t.Context(), func(Damage) {}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(t.Context())
	if err != nil || r.Damaged != len(damaged) || len(damaged) < 20 {
		t.Errorf("%d damaged, want %d (%v)", r.Damaged, len(damaged), err)
	}
	if n := strings.Count(report.String(), "a stored block is damaged"); n != len(damaged) {
		t.Errorf("%d reports", n)
	}
	checkDamaged(t, s, list, damaged)
	s = reopen(t, s)
	checkDamaged(t, s, list, damaged)
	for i := range damaged {
		mustAdd(t, s, content(i, 10_000))
	}
	checkDamaged(t, s, list, nil)
	if r, _ := s.Report(t.Context()); r.Damaged != 0 {
		t.Errorf("%d damaged after healing", r.Damaged)
	}
	s = loseIndex(t, s)
	checkDamaged(t, s, list, nil)
}

func checkDamaged(t *testing.T, s *Store, list []cid.Cid, damaged map[int]bool) {
	t.Helper()
	for i, c := range list {
		if damaged[i] {
			_, err := s.Get(t.Context(), c)
			wantCode(t, err, nodegate.Damaged)
			if has, err := s.Has(t.Context(), c); has || err != nil {
				t.Errorf("has a damaged block: %v", err)
			}
			continue
		}
		wantBlock(t, s, c, content(i, 10_000))
	}
}

// Damage that nobody has seen yet is found when the same content is put, so an
// acknowledged add can be read.
func TestPutHealsUnseenDamage(t *testing.T) {
	s := open(t, testConfig(t))
	data := content(1, 5000)
	c := mustAdd(t, s, data)
	path, off := fileOf(t, s, c)
	flip(t, path, off+100)
	mustAdd(t, s, data)
	wantBlock(t, s, c, data)
	s = loseIndex(t, s)
	wantBlock(t, s, c, data)
}

// A read never returns wrong bytes, and reports what it found without a scrub.
func TestGetQuarantines(t *testing.T) {
	s := open(t, testConfig(t))
	c := mustAdd(t, s, content(1, 5000))
	path, off := fileOf(t, s, c)
	flip(t, path, off)
	_, err := s.Get(t.Context(), c)
	wantCode(t, err, nodegate.Damaged)
	flip(t, path, off) // the fault has passed
	_, err = s.Get(t.Context(), c)
	wantCode(t, err, nodegate.Damaged)
	if err := s.Scrub(t.Context(), func(Damage) { t.Error("it is whole") }); err != nil {
		t.Fatal(err)
	}
	wantBlock(t, s, c, content(1, 5000))
}

// Bytes of a small store are flipped in turn, and the index is gone. The
// store opens, and each block is whole or damaged or, if its own record can't be
// found without the index, missing; never wrong.
func TestEveryByte(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("slow")
	}
	cfg := testConfig(t)
	s := open(t, cfg)
	var list []cid.Cid
	for i := range 4 {
		list = append(list, mustAdd(t, s, content(i, 64)))
	}
	path, _ := fileOf(t, s, list[0])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(whole); off += 7 {
		flip(t, path, int64(off))
		s, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatalf("byte %d: %v", off, err)
		}
		bad := 0
		for i, c := range list {
			data, err := s.Get(t.Context(), c)
			if err == nil && !bytes.Equal(data, content(i, 64)) {
				t.Fatalf("byte %d: wrong bytes", off)
			}
			if err != nil {
				bad++
			}
		}
		if bad > 1 {
			t.Errorf("byte %d: %d blocks are lost", off, bad)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, os.RemoveAll(s.files.indexDir())) // the next round reads the log without it
	}
}

// The index is a cache: without it, or with any damage to it, blocks, pins and
// sums are the same.
func TestIndexLost(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, *Store){
		"deleted": func(t *testing.T, s *Store) { must(t, os.RemoveAll(s.files.indexDir())) },
		"marked":  func(_ *testing.T, s *Store) { s.files.markIndex() },
		"truncated": func(t *testing.T, s *Store) {
			eachIndexFile(t, s, func(path string) { must(t, os.Truncate(path, 10)) })
		},
		"flipped": func(t *testing.T, s *Store) { eachIndexFile(t, s, func(path string) { flipMany(t, path) }) },
		"a table is gone": func(t *testing.T, s *Store) {
			eachIndexFile(t, s, func(path string) {
				if filepath.Ext(path) == ".sst" {
					must(t, os.Remove(path))
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, testConfig(t))
			var names []string
			for i := range 50 {
				names = append(names, fmt.Sprint("t", i))
				if _, err := addTree(s, "acc", names[i]); err != nil {
					t.Fatal(err)
				}
			}
			off, _ := tree("t7")
			unpin(t, s, "acc", off)
			stored := s.Stored("acc")
			must(t, s.Close())
			harm(t, s)
			s = openHealed(t, s.cfg, off)
			for _, name := range names {
				if name != "t7" {
					checkTree(t, s, "acc", name)
				}
			}
			if s.Stored("acc") != stored {
				t.Errorf("stored %d, want %d", s.Stored("acc"), stored)
			}
			must(t, s.Undo(t.Context(), "acc", off.String()))
			checkTree(t, s, "acc", "t7")
		})
	}
}

// openHealed opens a store whose index may be damaged. What the start does not see
// shows in a call; the next start rebuilds the index.
func openHealed(t *testing.T, cfg Config, any cid.Cid) *Store {
	t.Helper()
	s := open(t, cfg)
	_, err := s.Get(context.Background(), any)
	if err == nil {
		err = s.Scrub(context.Background(), func(Damage) {})
	}
	if err == nil {
		return s
	}
	wantCode(t, err, nodegate.Internal)
	if r, _ := s.Report(t.Context()); r.Index != "damaged" && s.index.broken.Load() {
		t.Errorf("the report does not say so: %+v", r)
	}
	_ = s.Close()
	return open(t, cfg)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eachIndexFile(t *testing.T, s *Store, do func(path string)) {
	t.Helper()
	must(t, filepath.WalkDir(s.files.indexDir(), func(path string, d fs.DirEntry, err error) error {
		if info, _ := d.Info(); err == nil && !d.IsDir() && info.Size() > 10 {
			do(path)
		}
		return err
	}))
}

func flipMany(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 0; i < len(data); i += 97 {
		data[i] ^= 1
	}
	must(t, os.WriteFile(path, data, 0o600))
}
