package clients_test

import (
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	full.Short("TestGoEthereum")
	os.Exit(m.Run())
}
