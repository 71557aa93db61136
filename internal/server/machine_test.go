package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// TestExecutionRules: a network whose calls can't be executed by Ethereum's rules doesn't
// start, and the error says why.
func TestExecutionRules(t *testing.T) {
	cfg := &config.Config{Limits: config.Limits{CallTimeout: time.Second}}
	file := filepath.Join(t.TempDir(), "genesis.json")
	for _, c := range []struct{ genesis, want string }{
		{`{"config":{"chainId":10,"homesteadBlock":0,"optimism":{}}}`, `unknown field "optimism"`}, {`{"config":{"chainId":11,"homesteadBlock":0}}`, "chainId is 11"}, {"", "JSON"},
		{`{"config":{"chainId":10,"homesteadBlock":0}}`, ""},
	} {
		if err := os.WriteFile(file, []byte(c.genesis), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := machineOf(cfg, lane.New(1, 1), &config.Network{Verify: config.VerifyExecution, ChainID: 10, Genesis: file})
		switch {
		case c.want == "" && (err != nil || m == nil):
			t.Errorf("%s: %v", c.genesis, err)
		case c.want != "" && (!errors.Is(err, nodegate.BadConfig) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file)):
			t.Errorf("%s: the error is %v, want %s", c.genesis, err, c.want)
		}
	}
	for _, id := range []uint64{1, 11155111, 560048} { // which internal/config lets pass without a file
		if m, err := machineOf(cfg, lane.New(1, 1), &config.Network{Verify: config.VerifyExecution, ChainID: id}); m == nil || err != nil {
			t.Errorf("chain %d: %v", id, err)
		}
	}
	if m, err := machineOf(cfg, lane.New(1, 1), &config.Network{Verify: config.VerifyState, ChainID: 5}); m != nil || err != nil {
		t.Errorf("verify: state: %v", err)
	}
}
