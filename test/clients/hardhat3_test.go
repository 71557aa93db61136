package clients_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

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
	compatRow(t, "programs", "Hardhat 3", fullVersion(t, "hardhat3", "hardhat"), "`test/clients/hardhat3` in `make full`, on the devnet: network helpers, Ignition from a script and from the command line", lastLine(out))
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

// hardhat3Project is a new folder with the project and its packages, and what PATH needs.
func hardhat3Project(t *testing.T) (dir, path string) {
	t.Helper()
	dir, path = fullProject(t, "hardhat3")
	return withCounter(t, dir, "contracts"), path
}
