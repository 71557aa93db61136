package rpc_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// TestNothingLeft starts a server, uses it in every way, breaks clients off in
// the middle, closes it, and wants its goroutines and descriptors to be gone.
func TestNothingLeft(t *testing.T) {
	shared(t) // its own are there before and after
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	s, err := launch(t.TempDir(), only("devnet"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		post(t, s.url("devnet", keyA), chainID)
		c := dial(t, s.ws("devnet", keyA))
		ask(t, c, "eth_subscribe", `["newHeads"]`)
		write(t, c, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[`+endlessCall+`,"latest"]}`)
		raw := rawDial(t, s)
		raw.send(fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", keyA))
		_ = raw.Close()
		if i%2 == 0 {
			_ = c.CloseNow()
			continue
		}
		go closeStatus(t, c) // it takes part in the server's goodbye
	}
	mine(t, s.url("devnet", keyA), 1337, nil)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	const slack = 10 // idle connections of this process's own HTTP client
	for range 100 {
		if runtime.NumGoroutine() <= goroutines+slack {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > goroutines+slack {
		var text strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
		t.Errorf("%d goroutines before, %d after:\n%.6000s", goroutines, now, text.String())
	}
	if now := openFiles(t); now > files+40 {
		t.Errorf("%d open files before, %d after", files, now)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc:", err)
	}
	return len(list)
}
