package storage_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// suiteSpecs are the parts of IPFS' gateway-conformance that the read gateway serves.
const suiteSpecs = "trustless-block-gateway,trustless-car-gateway,trustless-car-gateway-optional,path-unixfs-gateway,path-tar-gateway,path-dag-gateway,path-raw-gateway,path-range-gateway," +
	"subdomain-ipfs-gateway,redirects-file,proxy-gateway"

// TestGatewaySuite runs gateway-conformance, where NODEGATE_GATEWAY_SUITE names its program,
// and prints how much of each test passes.
func TestGatewaySuite(t *testing.T) {
	program := os.Getenv("NODEGATE_GATEWAY_SUITE")
	if program == "" {
		t.Skip("NODEGATE_GATEWAY_SUITE names no gateway-conformance")
	}
	s := start(t, func(c *config.Config) {
		c.Storage.Gateway, c.Storage.GatewayRate, c.Storage.GatewayHosts = "public", 1_000_000, []string{"example.com"}
		c.TrustedProxies = []string{"127.0.0.1"} // the suite sends X-Forwarded-Host and X-Forwarded-Proto
	})
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), program, "extract-fixtures", "--directory", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	importFixtures(t, s.tenant(t, "suite", "unlimited"), dir)
	report := filepath.Join(dir, "report.json")
	// It fails when a test does; the report says which.
	out, err := exec.CommandContext(t.Context(), program, "test", "--gateway-url", s.base, "--subdomain-url", "http://example.com", "--specs", suiteSpecs, "--json", report).CombinedOutput()
	passed, failed := readSuite(t, report)
	if len(passed) == 0 {
		t.Fatalf("nothing ran: %v: %s", err, out)
	}
	for _, name := range slices.Sorted(keysOf(passed, failed)) {
		t.Logf("%s: %d of %d", name, passed[name], passed[name]+failed[name])
		if failed[name] > 0 {
			t.Errorf("%s has %d failures", name, failed[name])
		}
	}
}

func keysOf(maps ...map[string]int) func(func(string) bool) {
	all := map[string]bool{}
	for _, m := range maps {
		for name := range m {
			all[name] = true
		}
	}
	return func(yield func(string) bool) {
		for name := range all {
			if !yield(name) {
				return
			}
		}
	}
}

// importFixtures stores the content that the suite asks for.
func importFixtures(t *testing.T, n *tenant, dir string) {
	t.Helper()
	cars := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".car" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		cars++
		if a := n.upload("dag/import?pin-roots=false", file("x.car", data)); a.status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", path, a.status, a.body)
		}
		return nil
	})
	if err != nil || cars == 0 {
		t.Fatalf("%d CARs: %v", cars, err)
	}
}

// readSuite counts the results of a report by the test they are part of.
func readSuite(t *testing.T, report string) (passed, failed map[string]int) {
	t.Helper()
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	passed, failed = map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		name, _, inner := strings.Cut(event.Test, "/")
		switch {
		case inner && event.Action == "pass":
			passed[name]++
		case inner && event.Action == "fail":
			failed[name]++
			t.Log("fails: ", event.Test)
		}
	}
	return passed, failed
}
