package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// attacker is a hostile client: a separate process at low priority. In the field it is another
// machine; here it would take the cores from the client that is measured.
type attacker struct {
	t   *testing.T
	cmd *exec.Cmd
	end io.Closer
	out bytes.Buffer
}

// newAttacker starts a client that this test program is when env says what it is told. It ends
// with its input.
func newAttacker(t *testing.T, env string, told any) *attacker {
	t.Helper()
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	h := &attacker{t: t, cmd: exec.Command("nice", "-n", "19", os.Args[0], "-test.run=^$")}
	h.cmd.Env = append(os.Environ(), env+"="+string(text), "GOMAXPROCS=1")
	h.cmd.Stdout, h.cmd.Stderr = &h.out, os.Stderr
	h.end, err = h.cmd.StdinPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// leave ends the client and reads what it saw.
func (h *attacker) leave(saw any) {
	h.t.Helper()
	_ = h.end.Close()
	h.wait(saw)
}

// wait waits until the client has ended by itself.
func (h *attacker) wait(saw any) {
	h.t.Helper()
	err := h.cmd.Wait()
	if err == nil {
		err = json.Unmarshal(h.out.Bytes(), saw)
	}
	if err != nil {
		h.t.Errorf("the hostile client: %v: %.300s", err, h.out.String())
	}
}

// inputEnds is closed when the input of this process ends.
func inputEnds() <-chan struct{} {
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	return end
}

// crowdEnv makes the test program a crowd: it is what the crowd is told.
const crowdEnv = "NODEGATE_CHAOS_CROWD"

// mob is what a crowd in another process does.
type mob struct {
	Addr   string
	Groups []group
}

// group are clients that send one of these heads each and the same body.
type group struct {
	Clients int
	Heads   []string
	Body    text
	Silent  bool // they never read
}

// text is a body that is too long to be told.
type text struct {
	Begin, Repeat string
	Times         int
	End           string
}

func (t text) String() string { return t.Begin + strings.Repeat(t.Repeat, t.Times) + t.End }

// mobbed is what came of it.
type mobbed struct {
	Statuses map[int]int // of clients that read
	NoRetry  int
	Longest  time.Duration
	Failed   int64 // clients that could not connect
}

// refused is how many were told to come back later.
func (m mobbed) refused() int {
	return m.Statuses[http.StatusTooManyRequests] + m.Statuses[http.StatusServiceUnavailable]
}

// runMob is the crowd's process. It ends with its input, or when the server has closed all of
// its connections, if all clients read.
func runMob(told string) error {
	var m mob
	if err := json.Unmarshal([]byte(told), &m); err != nil {
		return err
	}
	crowd := &crowdOf{addr: m.Addr, statuses: map[int]int{}}
	for _, g := range m.Groups {
		body := []byte(g.Body.String())
		for i := range g.Clients {
			crowd.begin(i, g.Heads[i%len(g.Heads)], body, !g.Silent)
		}
	}
	closed := make(chan struct{})
	go func() {
		crowd.wait.Wait()
		close(closed)
	}()
	end := inputEnds()
	if slices.ContainsFunc(m.Groups, func(g group) bool { return g.Silent }) {
		<-end
	}
	select {
	case <-closed:
	case <-end:
	}
	crowd.leave()
	return json.NewEncoder(os.Stdout).Encode(mobbed{crowd.statuses, crowd.noRetry, crowd.longest(), crowd.failed.Load()})
}
