package nodes_test

import (
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	full.Short("TestLedgerFollows", "TestLedgerReorg", "TestLedgerReload", "TestLedgerEvents",
		"TestProvenEvents", "TestLedgerServers", "TestReceiptSubscriptions", "TestTwoServers",
		"TestReload", "TestReloadNetworks", "TestReady", "TestDrain", "TestErrorsOfOneNode",
		"TestDeadSideNetwork", "TestHeadsOfServers", "TestFiltersOfTheService", "TestVerifyExecution",
		"TestSpansOfABatch", "TestTrace")
	os.Exit(m.Run())
}
