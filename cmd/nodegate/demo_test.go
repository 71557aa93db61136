package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/full"
)

// TestDemoTraffic sends requests to a real server until they are in the usage, and ends them
// as Ctrl-C does.
func TestDemoTraffic(t *testing.T) {
	full.Slow(t)
	p := startProcess(t)
	cmd := exec.Command("nodegate", "demo", "traffic", "--for", "10m", "--rate", "100", "--admin-listen", p.admin, "--data", p.data)
	var out, errs safeBuffer
	cmd.Env, cmd.Stdout, cmd.Stderr = ownEnv(), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	until(t, func() bool { // the server writes usage now and then
		_, stdout, stderr := runHere(t.Context(), t, "usage", "--json", "--data", p.data)
		var usage struct {
			Rows []struct{ Network, Method, Outcome string }
		}
		if err := json.Unmarshal([]byte(stdout), &usage); err != nil {
			t.Fatal(stdout, stderr, err)
		}
		return len(usage.Rows) > 20
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	if text := out.String(); !strings.HasPrefix(text, "Sent ") || !strings.Contains(text, " ok") || !strings.Contains(text, " with an error") {
		t.Errorf("it says %s", text)
	}
	_, stdout, _ := p.command(t, "", "key", "list", "--json")
	var keys []struct{ ID, Name, State string }
	if err := json.Unmarshal([]byte(stdout), &keys); err != nil || len(keys) != 2 {
		t.Fatal(stdout, err)
	}
	for _, k := range keys {
		if (k.Name == "demo traffic") != (k.State == "revoked") {
			t.Errorf("%+v", k)
		}
	}
	for _, args := range [][]string{{"--for", "0s"}, {"--rate", "0"}, {"--network", "nowhere"}} {
		code, _, stderr := p.command(t, "", append([]string{"demo", "traffic", "--admin-listen", p.admin}, args...)...)
		if code == 0 || !strings.HasPrefix(stderr, "nodegate: ") {
			t.Errorf("%q: %d %s", args, code, stderr)
		}
	}
}
