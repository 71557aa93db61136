package blockstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// A store without one of its segments is refused; with it back it opens.
func TestMissingSegment(t *testing.T) {
	dir := t.TempDir()
	c := Config{Dir: dir}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(strings.Repeat("x", 5000))
	id := mustAdd(t, s, data)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if len(files) == 0 {
		t.Fatal("there is no segment")
	}
	if err := os.Rename(files[0], files[0]+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(t.Context(), c); !errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), files[0]) {
			t.Fatalf("without a segment: %v", err)
		}
	}
	if err := os.Rename(files[0]+".away", files[0]); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), c); err != nil {
		t.Fatalf("with the segment back: %v", err)
	}
	wantBlock(t, s, id, data)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
