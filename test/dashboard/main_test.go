package dashboard_test

import (
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	full.Short("TestStrangers", "TestSessions", "TestFolders", "TestUploadInParts", "TestManyFiles",
		"TestKeyStory", "TestSignUpByMail", "TestSessionList", "TestStatusPage", "TestTryBatch",
		"TestTrySubscription", "TestStripe")
	os.Exit(m.Run())
}
