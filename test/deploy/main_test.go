package deploy

import (
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	full.Short("TestCheckBites", "TestNames", "TestCompose", "TestKubernetes", "TestStopTimes",
		"TestContainer", "TestHAProxyRuns", "TestDashboardLayout", "TestNginxUploads")
	os.Exit(m.Run())
}
