package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

const scriptTime = 3 * time.Minute

// Each client signs with a development account of its own: two that share one would
// fight over its nonces.
const (
	ethersAccount = iota
	viemAccount
	web3Account
	gethAccount
	blobAccount
	hardhatAccount
	otherHardhatAccount
	forgeAccount
	otherForgeAccount
	castAccount
	// These use the accounts of programs that have servers of their own.
	ethers5Account = hardhatAccount
	wagmiAccount   = otherHardhatAccount
)

// success is the last line of a script in which every check passed.
var success = regexp.MustCompile(`(?m)^ok \d+ checks$`)

// scriptInput is all that a script knows of the service.
type scriptInput struct {
	Networks map[string]scriptNetwork `json:"networks"`
	BadKey   endpoint                 `json:"badKey"`
	Unknown  endpoint                 `json:"unknown"`
	ABI      json.RawMessage          `json:"abi"`
	Code     hexutil.Bytes            `json:"code"` // creates the demo contract
	Account  scriptAccount            `json:"account"`
}

type scriptNetwork struct {
	endpoint
	Facts json.RawMessage `json:"facts"`
}

type endpoint struct {
	HTTP string `json:"http"`
	WS   string `json:"ws"`
}

type scriptAccount struct {
	Address    common.Address `json:"address"`
	PrivateKey string         `json:"privateKey"`
}

// TestLibraries runs the scripts beside each other on one server.
func TestLibraries(t *testing.T) {
	needNode(t)
	packages := install(t)
	svc := startService(t)
	dir := scriptFolder(t, packages)
	for _, c := range []struct {
		library, script string
		account         int
	}{
		{"ethers", "ethers.mjs", ethersAccount}, {"ethers5", "ethers5.mjs", ethers5Account}, {"viem", "viem.mjs", viemAccount},
		{"web3", "web3.mjs", web3Account}, {"@wagmi/core", "wagmi.mjs", wagmiAccount},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			result := runScript(t, dir, c.script, svc.input(t, c.account))
			compatRow(t, "programs", strings.Replace(c.library, "ethers5", "ethers 5", 1), packageVersion(t, c.library), "`test/clients/"+c.script+"`, HTTP and WebSocket, both built-in networks", result)
		})
	}
}

// runScript returns the script's last line.
func runScript(t *testing.T, dir, script string, input []byte) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1,localhost")
	cmd.Stdin = bytes.NewReader(input)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || !success.Match(out) {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s in %s", bytes.TrimSpace(out), time.Since(start).Round(time.Millisecond))
	return lastLine(string(out))
}

// input tells a script where the service is and what to expect there.
func (s *service) input(t *testing.T, account int) []byte {
	t.Helper()
	a := devchain.Accounts()[account]
	in := scriptInput{
		Networks: map[string]scriptNetwork{},
		BadKey:   endpoint{s.http("devnet", badKey), s.ws("devnet", badKey)},
		Unknown:  endpoint{s.http("nowhere", key), s.ws("nowhere", key)},
		ABI:      devchain.DemoABI(),
		Code:     devchain.DemoCode(),
		Account:  scriptAccount{a.Address, privateKeys(account)[0]},
	}
	for name, f := range s.facts {
		in.Networks[name] = scriptNetwork{endpoint{s.http(name, key), s.ws(name, key)}, f.raw}
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
