package clients_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestIPFSTools packs a directory with ipfs-car, imports the archive, and reads it back from
// the read gateway: as an archive with ipfs-car, block by block with Helia.
func TestIPFSTools(t *testing.T) {
	dir, _ := fullProject(t, "ipfs")
	s := harness.Start(t, func(c *config.Config) { c.Storage.Reserve, c.Storage.Gateway = 0, "public" })
	account := addStorageKey(t, s, "tools", "unlimited", s.AddStorageKey)
	base := "http" + strings.TrimPrefix(s.Server.Addresses().Storage, "https")
	folder := filepath.Join(dir, "packed")
	writeFolder(t, folder, map[string][]byte{"big.bin": bytes.Repeat([]byte("0123456789abcdef\n"), 60_000), "sub/hello.txt": []byte("hello\n")})

	car := filepath.Join(".", "node_modules", ".bin", "ipfs-car")
	root := strings.TrimSpace(ipfsTool(t, dir, car, "pack", "packed", "--no-wrap", "--output", "packed.car"))
	importCAR(t, base, account, filepath.Join(dir, "packed.car"), root)
	download(t, base+"/ipfs/"+root+"?format=car", filepath.Join(dir, "back.car"))
	ipfsTool(t, dir, car, "unpack", "back.car", "--output", "back")
	ipfsTool(t, dir, "diff", "-r", "packed", "back")
	compatRow(t, "programs", "ipfs-car", fullVersion(t, "ipfs", "ipfs-car"), "`test/clients/ipfs_test.go` in `make full`: `pack`, `dag/import`, `format=car` of the read gateway, `unpack`", "ok")

	out := ipfsTool(t, dir, "node", "helia.mjs", base, root, folder)
	if !success.MatchString(out) {
		t.Fatalf("helia.mjs says %s", out)
	}
	compatRow(t, "programs", "Helia", fullVersion(t, "ipfs", "helia"), "`test/clients/ipfs/helia.mjs` in `make full`: a directory from the read gateway, verified block by block", lastLine(out))
}

func ipfsTool(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func writeFolder(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// importCAR stores an archive with that root.
func importCAR(t *testing.T, base string, account storageKey, car, root string) {
	t.Helper()
	data, err := os.ReadFile(car)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "packed.car")
	if err == nil {
		_, err = part.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/v0/dag/import", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.SetBasicAuth(account.Key, account.Secret)
	if got := read(t, req); !strings.Contains(got, root) {
		t.Fatalf("dag/import says %s, not %s", got, root)
	}
}

func download(t *testing.T, url, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(read(t, req)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, req *http.Request) string {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", req.URL, res.StatusCode, err, data)
	}
	return string(data)
}
