package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// TestFolderFormat: a folder of a newer version is refused before anything is opened, and
// stays as it is.
func TestFolderFormat(t *testing.T) {
	cfg := config.Default()
	cfg.Data = t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"2\n", "newer nodegate: its format is 2 and this one knows 1"},
		{"", "can't be read"},
		{"one", "can't be read"},
		{"-1", "can't be read"},
	} {
		if err := os.WriteFile(filepath.Join(cfg.Data, formatFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenControl(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if nodegate.AsError(err).Code != nodegate.BadConfig || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
		if err := writeFormat(cfg); c.text == "2\n" && err != nil {
			t.Error(err)
		}
		if list, _ := os.ReadDir(cfg.Data); len(list) != 1 {
			t.Errorf("%q: the folder has %d files", c.text, len(list))
		}
		if text, _ := os.ReadFile(filepath.Join(cfg.Data, formatFile)); string(text) != c.text {
			t.Errorf("%q became %q", c.text, text)
		}
	}
	if err := os.Remove(filepath.Join(cfg.Data, formatFile)); err != nil {
		t.Fatal(err)
	}
	if err := writeFormat(cfg); err != nil {
		t.Fatal(err)
	}
	if n, err := readFormat(cfg.Data); n != folderFormat || err != nil {
		t.Errorf("format %d, %v", n, err)
	}
	opened(t, cfg)
}
