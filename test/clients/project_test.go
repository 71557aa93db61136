package clients_test

import (
	_ "embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nodegate/nodegate/test/harness"
)

// counter is the contract that the projects of Hardhat and Foundry have.
//
//go:embed Counter.sol
var counter []byte

// withCounter puts the contract where a project keeps its contracts, and returns the project.
func withCounter(t *testing.T, project, contracts string) string {
	t.Helper()
	dir := filepath.Join(project, contracts)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Counter.sol"), counter, 0o600); err != nil {
		t.Fatal(err)
	}
	return project
}

// serveOn runs a program with a free port until the test ends, waits until it is ready, and
// returns where it listens.
func serveOn(t *testing.T, name string, program func(port string) *exec.Cmd, ready func(url string) bool) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	_ = ln.Close()
	cmd, out := program(port), new(harness.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", name, out)
		}
	})
	url := "http://127.0.0.1:" + port
	await(t, name, func() bool { return ready(url) })
	return url
}
