package clients_test

import (
	"embed"
	"io/fs"
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// files are embedded so that a change to one of them is a change to the test: results
// of an older script are never taken from the test cache.
//
//go:embed .npmrc package.json package-lock.json *.mjs
var files embed.FS

// needNode skips the test where the scripts can't run.
func needNode(t *testing.T) {
	t.Helper()
	npmtest.NeedNode(t)
}

// install returns a folder that has the JavaScript libraries in node_modules.
func install(t *testing.T) string {
	t.Helper()
	return npmtest.Install(t, files)
}

func skip(t *testing.T, reason string) {
	t.Helper()
	harness.Skip(t, reason)
}

// scriptFolder is a new folder with the scripts of this build and the packages.
func scriptFolder(t *testing.T, packages string) string {
	t.Helper()
	scripts, err := fs.Glob(files, "*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return npmtest.Project(t, packages, files, append(scripts, "package.json")...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
