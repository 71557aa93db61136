package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCmd prints what this binary is made of.
type versionCmd struct{}

// Run prints one fact a line.
func (versionCmd) Run(a *app) error {
	b := readBuild()
	_, err := fmt.Fprintf(a.stdout, "nodegate %s\ncommit %s\n%s %s/%s\ngo-ethereum %s\n",
		b.version, b.commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, b.engine)
	return err
}

// build is what the compiler wrote into the binary.
type build struct {
	version string
	commit  string // with a + when the tree had changes
	engine  string // the version of go-ethereum
}

const engineModule = "github.com/ethereum/go-ethereum"

// readBuild takes everything from the binary itself, so that no build script can
// forget to set it.
func readBuild() build {
	b := build{version: "(devel)", commit: "unknown", engine: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	b.commit = commitOf(info)
	for _, m := range info.Deps {
		if m.Path == engineModule {
			b.engine = m.Version
		}
	}
	return b
}

func commitOf(info *debug.BuildInfo) string {
	commit, changed := "unknown", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+"
			}
		}
	}
	return commit + changed
}
