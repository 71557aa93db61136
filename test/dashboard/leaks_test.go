package dashboard

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/test/harness"
)

var (
	shownKey    = regexp.MustCompile(`data-copy="([0-9a-f]{32})"`)
	shownSecret = regexp.MustCompile(`data-copy="([0-9a-f]{40})"`)
)

// What is secret passes through the pages that need it and is nowhere else: not in the
// log, not in the data folder, not in an address, and not on another page.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	s, _ := Start(t, nil)
	v := Member(t, s, "ada@example.com")
	made := v.Follow(v.Post("/keys", url.Values{"name": {"canary"}}))
	key, secret := shownKey.FindStringSubmatch(made.Body), shownSecret.FindStringSubmatch(made.Body)
	if made.Status != http.StatusOK || key == nil || secret == nil {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	const card = "4000000000000002"
	v.Post("/billing/card", url.Values{"number": {card}, "month": {"12"}, "year": {"2039"}, "cvc": {"737"}})
	v.Post("/try", url.Values{"method": {"eth_call"}, "params": {"["}})
	secrets := map[string]string{"key": key[1], "secret": secret[1], "password": Password, "session": v.Cookie, "card": card}

	for _, r := range dashboard.Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		p := v.Get(address(r, "k-none"))
		for name, text := range secrets {
			if strings.Contains(p.Body, text) || strings.Contains(p.Location, text) {
				t.Errorf("%s shows the %s", r.Path, name)
			}
		}
	}
	for name, text := range secrets {
		if strings.Contains(s.Logs.String(), text) {
			t.Errorf("the log has the %s", name)
		}
	}
	searchFolder(t, s, secrets)
}

// searchFolder looks into every file of the data folder.
func searchFolder(t *testing.T, s *harness.Service, secrets map[string]string) {
	t.Helper()
	files := 0
	err := filepath.Walk(s.Dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || strings.Contains(path, "/networks/") {
			return nil // files come and go; the chains hold no account
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		files++
		for name, text := range secrets {
			if strings.Contains(string(data), text) {
				t.Errorf("%s has the %s", filepath.Base(path), name)
			}
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Fatalf("%d files were searched, %v", files, err)
	}
}
