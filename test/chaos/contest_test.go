package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// figures are what an innocent client saw.
type figures struct {
	Sent, Failed      int
	P50, P99, Slowest time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("p50 %v p99 %v, %d of %d failed", round(f.P50), round(f.P99), f.Failed, f.Sent)
}

// tries is how often a row that is about time may miss before it fails.
const tries = 3

// contest runs a trial that compares a control with an attack from the same run. In make
// chaos it is repeated when it misses, since a busy machine misses too, and fails when
// every try has missed. Beside other tests one try is made and its figures decide
// nothing: what must always hold, a trial checks with t itself.
func (o *outcome) contest(t *testing.T, trial func() (measured string, holds bool)) {
	t.Helper()
	most := 1
	if os.Getenv(fullEnv) != "" {
		most = tries
	}
	for try := 1; try <= most; try++ {
		measured, holds := trial()
		o.say("%s", measured)
		if holds || t.Failed() {
			return
		}
		t.Logf("try %d of %d missed: %s", try, most, measured)
	}
	if most == tries {
		t.Errorf("missed %d times: %s", tries, o.measured)
		return
	}
	o.within(false)
}

// innocentEnv makes the test program an innocent client: it is what the client is told.
const innocentEnv = "NODEGATE_CHAOS_INNOCENT"

// errand is what an innocent client does.
type errand struct {
	Base, Network, Key string
	Rate               int
	During             time.Duration
}

// innocent sends eth_blockNumber at a steady rate for a while, each request at its own
// time whether or not the one before is answered, and returns what came of it. Waiting
// for a slow answer would hide how many were slow. The client is a process of its own:
// in the attacking one it would wait for the attackers' threads and garbage collector.
func (p *program) innocent(network, key string, rate int, during time.Duration) figures {
	p.t.Helper()
	told, err := json.Marshal(errand{p.rpcBase, network, key, rate, during})
	if err != nil {
		p.t.Error(err)
		return figures{}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), innocentEnv+"="+string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var f figures
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		p.t.Errorf("the innocent client: %v: %.300s", err, out)
	}
	return f
}

// runErrand is the innocent client's process.
func runErrand(told string) error {
	var e errand
	if err := json.Unmarshal([]byte(told), &e); err != nil {
		return err
	}
	p := &program{rpcBase: e.Base, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	f := steadily(e.Rate, e.During, func(ctx context.Context) error {
		_, err := p.rpc(ctx, e.Network, e.Key, "eth_blockNumber")
		return err
	})
	return json.NewEncoder(os.Stdout).Encode(f)
}

// steadily does something at a steady rate for a while and times it.
func steadily(rate int, during time.Duration, do func(context.Context) error) figures {
	var mu sync.Mutex
	var wait sync.WaitGroup
	var f figures
	var times []time.Duration
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			begun := time.Now()
			err := do(ctx)
			took := time.Since(begun)
			mu.Lock()
			defer mu.Unlock()
			f.Sent++
			times = append(times, took)
			if err != nil {
				f.Failed++
			}
		})
	}
	wait.Wait()
	slices.Sort(times)
	if len(times) > 0 {
		f.P50, f.P99, f.Slowest = times[len(times)/2], times[len(times)*99/100], times[len(times)-1]
	}
	return f
}

// rpc calls a method; params are JSON values. The error is the transport's, the
// status's or the envelope's.
func (p *program) rpc(ctx context.Context, network, key, method string, params ...string) (result json.RawMessage, err error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, method, strings.Join(params, ","))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.rpcBase+"/"+network+"/v3/"+key, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	switch err := json.Unmarshal(text, &envelope); {
	case err != nil:
		return nil, fmt.Errorf("%d: %.200s", res.StatusCode, text)
	case envelope.Error != nil:
		return nil, fmt.Errorf("%d: %d %s", res.StatusCode, envelope.Error.Code, envelope.Error.Message)
	}
	return envelope.Result, nil
}

// account creates an account on a plan, beside the running program.
func (b *sandbox) account(email, plan string) {
	b.t.Helper()
	b.tool("account", "create", email, "--no-password", "--plan", plan)
}

// newKey creates a key of an account, beside the running program.
func (b *sandbox) newKey(email string) (key, secret string) {
	b.t.Helper()
	var created struct {
		Value  string `json:"api_key"`
		Secret string `json:"api_key_secret"`
	}
	if out := b.tool("key", "create", "--account", email, "--json"); json.Unmarshal(out, &created) != nil || created.Value == "" {
		b.t.Fatalf("key create: %.300s", out)
	}
	return created.Value, created.Secret
}

// tool runs a command of the program to its end.
func (b *sandbox) tool(args ...string) []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	cmd := b.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("nodegate %s: %v\n%.1000s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}
