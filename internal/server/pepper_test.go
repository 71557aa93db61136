package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
)

// opened is the control of a data folder, closed after the test.
func opened(t *testing.T, cfg *config.Config) *Control {
	t.Helper()
	c, err := OpenControl(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestPepperCarried: the file's text works in the variable, without the file.
func TestPepperCarried(t *testing.T) {
	cfg := config.Default()
	cfg.Data = t.TempDir()
	first := opened(t, cfg).vault.Check()
	path := filepath.Join(cfg.Data, "pepper")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cfg.Pepper = config.Secret(strings.TrimSpace(string(text)))
	if got := opened(t, cfg).vault.Check(); got != first {
		t.Error("the variable is another pepper than the file")
	}
}

// TestPepperBeforeOneForm: a store that was made with the bytes of the variable's text goes
// on with them.
func TestPepperBeforeOneForm(t *testing.T) {
	cfg := config.Default()
	cfg.Data, cfg.Pepper = t.TempDir(), config.Secret(strings.Repeat("0f", 32))
	before, err := credential.New([]byte(cfg.Pepper))
	if err != nil {
		t.Fatal(err)
	}
	c := opened(t, cfg)
	if c.vault.Check() == before.Check() {
		t.Fatal("a new store takes the older reading")
	}
	if err := c.Store.ReplaceMeta(t.Context(), pepperMeta, before.Check()); err != nil {
		t.Fatal(err)
	}
	if got := opened(t, cfg).vault.Check(); got != before.Check() {
		t.Error("an older store is not opened with its reading")
	}
}
