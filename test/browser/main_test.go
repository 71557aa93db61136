package browser

import (
	"os"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

func TestMain(m *testing.M) {
	full.Short("TestInspector")
	os.Exit(m.Run())
}
