// Command write runs a nodegate binary, puts accounts, keys, transactions, files and
// usage into it, and writes its data folder, or with --postgres a dump of its database
// beside the folder, as a fixture for package upgrade:
//
//	go run ./test/upgrade/write --program ./nodegate --to test/upgrade/testdata/v1-sqlite
//	go run ./test/upgrade/write --program ./nodegate --to test/upgrade/testdata/v1-postgres --postgres DSN
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	program := flag.String("program", "./nodegate", "the build that writes the fixture")
	to := flag.String("to", "", "the fixture, without an extension")
	dsn := flag.String("postgres", "", "an empty database")
	flag.Parse()
	if err := write(*program, *to, *dsn); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(program, to, dsn string) error {
	dir, err := os.MkdirTemp("", "upgrade")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := start(program, filepath.Join(dir, "data"), dsn)
	if err != nil {
		return err
	}
	if err := s.fill(); err != nil {
		s.kill()
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.manifest.save(to + ".json"); err != nil {
		return err
	}
	if dsn != "" {
		if err := output(to+".sql", "pg_dump", "--inserts", "--no-owner", "--no-privileges", dsn); err != nil {
			return err
		}
	}
	return exec.Command("tar", "-czf", to+".tar.gz", "--owner=0", "--group=0", "-C", dir, "data").Run()
}

// output writes what a command prints to a file.
func output(file, name string, args ...string) error {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return err
	}
	return os.WriteFile(file, out, 0o644)
}
