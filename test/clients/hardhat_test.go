package clients_test

import (
	"bytes"
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// hardhatFiles are a Hardhat project. Its packages are a manifest of their own, because
// make test has no time to install them.
//
//go:embed hardhat/.npmrc hardhat/*.json hardhat/*.js hardhat/test
var hardhatFiles embed.FS

// passing is what Hardhat's test runner prints when it ran tests and none failed.
var passing = regexp.MustCompile(`(?m)^ +([1-9]\d*) passing`)

// TestHardhat compiles a contract and runs its tests on the embedded devnet.
func TestHardhat(t *testing.T) {
	dir := hardhatProject(t)
	svc := startService(t)
	start := time.Now()
	count := hardhatTest(t, dir, svc.http("devnet", key), svc.facts["devnet"].ChainID)
	t.Logf("%s tests of the contract passed in %s", count, time.Since(start).Round(time.Millisecond))
	compatRow(t, "programs", "Hardhat 2, `hardhat test`", hardhatVersion(t), "`test/clients/hardhat` in `make full`, on the devnet: tests of a contract with private keys", "ok "+count+" tests")
}

// TestHardhatAnvil runs them through nodegate on an anvil, which mines each transaction
// when it comes. A receipt that is ahead of what `latest` shows fails them.
func TestHardhatAnvil(t *testing.T) {
	dir := hardhatProject(t)
	front := frontOf(t, startAnvil(t))
	const runs = 20
	for range runs {
		hardhatTest(t, dir, front.URL("anvil", key), anvilChain)
	}
	t.Logf("%d of %d runs passed", runs, runs)
}

func hardhatVersion(t *testing.T) string {
	t.Helper()
	files, err := fs.Sub(hardhatFiles, "hardhat")
	if err != nil {
		t.Fatal(err)
	}
	return manifestOf(t, files).Dependencies["hardhat"]
}

// hardhatProject is a new folder with the project and its packages.
func hardhatProject(t *testing.T) string {
	t.Helper()
	harness.NeedFull(t)
	npmtest.NeedNode(t)
	files, err := fs.Sub(hardhatFiles, "hardhat")
	if err != nil {
		t.Fatal(err)
	}
	return withCounter(t, npmtest.Project(t, npmtest.Install(t, files), files, filesOf(t, files)...), "contracts")
}

// anvilChain is the chain of an anvil that forks none.
const anvilChain = 31337

// hardhatTest runs the project's tests on an endpoint and returns how many passed.
func hardhatTest(t *testing.T, dir, url string, chain uint64) string {
	t.Helper()
	out, err := hardhat(t, dir, url, chain, "test").CombinedOutput()
	count := passing.FindSubmatch(out)
	if err != nil || count == nil || bytes.Contains(out, []byte(" failing")) {
		t.Fatalf("hardhat test: %v\n%s", err, out)
	}
	return string(count[1])
}

// hardhat is a command of Hardhat in a project that knows nodegate only by its HTTP
// endpoint and two funded accounts.
func hardhat(t *testing.T, dir, url string, chain uint64, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	t.Cleanup(cancel)
	program := filepath.Join("node_modules", "hardhat", "internal", "cli", "bootstrap.js")
	cmd := exec.CommandContext(ctx, "node", append([]string{program}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "HARDHAT_DISABLE_TELEMETRY_PROMPT=true",
		"NODEGATE_URL="+url, fmt.Sprintf("NODEGATE_CHAIN=%d", chain),
		"NODEGATE_ACCOUNTS="+strings.Join(privateKeys(hardhatAccount, otherHardhatAccount), ","))
	return cmd
}

// privateKeys are those of development accounts, which the devnet funds.
func privateKeys(accounts ...int) (keys []string) {
	for _, i := range accounts {
		keys = append(keys, "0x"+hex.EncodeToString(crypto.FromECDSA(devchain.Accounts()[i].PrivateKey)))
	}
	return keys
}

// filesOf lists all files, also those in folders.
func filesOf(t *testing.T, files fs.FS) (names []string) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
