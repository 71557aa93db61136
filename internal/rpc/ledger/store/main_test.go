package store

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	// The command line is read later, and has the last word.
	if err := flag.Set("rapid.checks", fmt.Sprint(full.Rounds(100, 30))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
