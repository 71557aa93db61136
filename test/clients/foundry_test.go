package clients_test

import (
	"path/filepath"
	"runtime"
	"testing"
)

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
