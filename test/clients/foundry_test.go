package clients_test

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/npmtest"
)

// foundryFiles are a Foundry project.
//
//go:embed foundry
var foundryFiles embed.FS

// foundryVersion is that of the packages from npm.
func foundryVersion(t *testing.T) string {
	t.Helper()
	return optionalVersion(t, "@foundry-rs/forge-linux-amd64")
}

// foundryTool is a program of Foundry, which npm has for some machines.
func foundryTool(t *testing.T, name string) string {
	t.Helper()
	needNode(t)
	program := filepath.Join(install(t), "node_modules", "@foundry-rs", name+"-"+runtime.GOOS+"-"+runtime.GOARCH, "bin", name)
	if !exists(program) {
		skip(t, "npm has no "+name+" for this machine, so it was not run")
	}
	return program
}

// foundry is a project whose chain is a network of a running nodegate.
type foundry struct {
	*testing.T
	dir, url string
	env      []string
}

func newFoundry(t *testing.T, url string) *foundry {
	t.Helper()
	needNode(t)
	files, err := fs.Sub(foundryFiles, "foundry")
	if err != nil {
		t.Fatal(err)
	}
	dir := withCounter(t, npmtest.Project(t, install(t), files, filesOf(t, files)...), "src")
	if err := os.Chmod(filepath.Join(dir, "solc"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &foundry{T: t, dir: dir, url: url}
}

// run runs forge or cast on the chain and returns what it prints.
func (f *foundry) run(tool string, args ...string) string {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, foundryTool(f.T, tool), append([]string{args[0], "--rpc-url", f.url}, args[1:]...)...)
	var out, noise bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, &out, &noise
	cmd.Env = append(append(os.Environ(), "NO_PROXY=127.0.0.1,localhost", "FOUNDRY_DISABLE_NIGHTLY_WARNING=1"), f.env...)
	if err := cmd.Run(); err != nil {
		f.Fatalf("%s %s: %v\n%s%s", tool, strings.Join(args, " "), err, &out, &noise)
	}
	return strings.TrimSpace(out.String())
}

// want runs cast and compares what it prints.
func (f *foundry) want(out string, args ...string) {
	f.Helper()
	if got := f.run("cast", args...); got != out {
		f.Errorf("cast %s prints %q, want %q", strings.Join(args, " "), got, out)
	}
}

// broadcast is what forge writes down of a script.
type broadcast struct {
	Transactions []struct {
		Hash, ContractAddress string
	}
	Receipts []struct {
		TransactionHash, Status string
	}
}

// script deploys a contract and calls it twice, and returns the contract's address.
func (f *foundry) script(chain uint64, args ...string) string {
	f.Helper()
	f.run("forge", append([]string{"script", "script/Deploy.s.sol", "--broadcast"}, args...)...)
	data, err := os.ReadFile(filepath.Join(f.dir, "broadcast", "Deploy.s.sol", fmt.Sprint(chain), "run-latest.json"))
	if err != nil {
		f.Fatal(err)
	}
	var sent broadcast
	if err := json.Unmarshal(data, &sent); err != nil {
		f.Fatal(err)
	}
	if len(sent.Transactions) != 3 || len(sent.Receipts) != 3 {
		f.Fatalf("forge sent %d transactions and has %d receipts:\n%s", len(sent.Transactions), len(sent.Receipts), data)
	}
	for _, r := range sent.Receipts { // those of one block are in any order
		if r.Status != "0x1" || !strings.Contains(fmt.Sprint(sent.Transactions), r.TransactionHash) {
			f.Errorf("a receipt: %+v", r)
		}
	}
	f.want("43", "call", sent.Transactions[0].ContractAddress, "value()(uint256)")
	return sent.Transactions[0].ContractAddress
}

// TestForge deploys with `forge script --broadcast`: signed with a private key, for which any
// key will do, and by an account that the node has, for which the key needs the scope
// development. Then forge tests on a fork.
func TestForge(t *testing.T) {
	svc := startService(t)
	chain := svc.facts["devnet"].ChainID
	f := newFoundry(t, svc.http("devnet", key))
	counter := f.script(chain, "--private-key", privateKeys(forgeAccount)[0])
	allowDevelopment(t, svc)
	f.script(chain, "--unlocked", "--sender", devchain.Accounts()[otherForgeAccount].Address.Hex(), "--slow")

	f.env = append(f.env, "COUNTER="+counter, fmt.Sprintf("CHAIN=%d", chain))
	tested := f.run("forge", "test", "--json")
	if strings.Count(tested, `"status":"Success"`) != 2 {
		t.Errorf("forge test on a fork: %s", tested)
	}
	created := f.run("forge", "create", "--broadcast", "--json", "--private-key", privateKeys(forgeAccount)[0], "src/Counter.sol:Counter", "--constructor-args", "7")
	var made struct{ DeployedTo string }
	if err := json.Unmarshal([]byte(created), &made); err != nil {
		t.Fatalf("forge create: %v\n%s", err, created)
	}
	f.want("7", "call", made.DeployedTo, "value()(uint256)")
	if !t.Failed() {
		compatRow(t, "programs", "forge", foundryVersion(t), "`test/clients/foundry_test.go`, on the devnet: `forge script --broadcast` with a private key and with `--unlocked`, `forge create`, `forge test` on a fork", "ok")
	}
}

// TestCast reads, sends and replays with cast, and sets state as on a development chain.
func TestCast(t *testing.T) {
	svc := developService(t)
	facts := svc.facts["devnet"]
	f := &foundry{T: t, dir: t.TempDir(), url: svc.http("devnet", key)}
	demo, tx := facts.Demo.Hex(), facts.tx(t, "legacy call").Hash.Hex()
	f.want(fmt.Sprint(facts.ChainID), "chain-id")
	f.want(fmt.Sprint(facts.Head), "block-number")
	f.want(facts.HeadHash.Hex(), "block", "latest", "--field", "hash")
	f.want(facts.Value.Word.Hex(), "storage", demo, facts.Value.Position)
	f.want("42", "call", demo, "value()(uint256)")
	f.want(tx, "tx", tx, "hash")
	f.want("true", "receipt", tx, "status")
	if got := f.run("cast", "logs", "--from-block", "0", "--address", demo, "--json"); !strings.Contains(got, tx) {
		t.Errorf("cast logs has no %s:\n%s", tx, got)
	}
	if got := f.run("cast", "proof", demo, facts.Value.Position); !strings.Contains(got, `"storageProof"`) {
		t.Errorf("cast proof: %s", got)
	}
	if got := f.run("cast", "run", "--quick", tx); !strings.Contains(got, "Transaction successfully executed") {
		t.Errorf("cast run: %s", got)
	}
	castSends(f)
	if !t.Failed() {
		compatRow(t, "programs", "cast", foundryVersion(t), "`test/clients/foundry_test.go`, on the devnet: reads, `send`, `logs`, `proof`, `run`, development methods with `rpc`", "ok")
	}
}

func castSends(f *foundry) {
	f.Helper()
	const to = "0x00000000000000000000000000000000000000ca"
	var receipt struct{ Status, BlockNumber string }
	sent := f.run("cast", "send", "--json", "--private-key", privateKeys(castAccount)[0], to, "--value", "5")
	if err := json.Unmarshal([]byte(sent), &receipt); err != nil || receipt.Status != "0x1" {
		f.Errorf("cast send: %v\n%s", err, sent)
	}
	f.want("5", "balance", to)
	f.want("21000", "estimate", "--from", devchain.Accounts()[castAccount].Address.Hex(), "--value", "1", to)
	f.want("null", "rpc", "anvil_setBalance", to, "0x2a")
	f.want("42", "balance", to)
	f.want("null", "rpc", "anvil_impersonateAccount", to)
	f.want("true", "rpc", "hardhat_setBalance", to, "0xde0b6b3a7640000")
	f.run("cast", "send", "--unlocked", "--from", to, "0x00000000000000000000000000000000000000cb", "--value", "3")
	f.want("3", "balance", "0x00000000000000000000000000000000000000cb")
}
