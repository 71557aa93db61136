package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// benchServer, when set in the environment, makes this binary a node that answers
// everything with a receipt: a process of its own, so that its work is not counted.
const benchServer = "CLIENT_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) != "" {
		serveReceipts()
		return
	}
	os.Exit(m.Run())
}

// receipt is 1.5 KB, as large as the one of a token transfer.
func receipt() []byte {
	return []byte(`{"logsBloom":"0x` + strings.Repeat("a7", 256) + `","logs":[` + strings.TrimSuffix(strings.Repeat(`{"topics":["0x`+strings.Repeat("1f", 100)+`"]},`, 4), ",") + `],"status":"0x1"}`)
}

type receipts struct{ result []byte }

func (r receipts) ServePlain(_ context.Context, _ *fastpath.Conn, req *fastpath.Request, out []byte) ([]byte, bool) {
	var body jsonrpc.Body
	if body.Scan(req.Body, 1) != nil {
		return out, false
	}
	answer := jsonrpc.AppendResult(nil, body.Requests[0].ID, r.result)
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nVary: Origin\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(answer)), 10)
	out = append(out, headEnd...)
	return append(out, answer...), true
}

func serveReceipts() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // the parent has gone
	_ = fastpath.New(receipts{receipt()}, &http.Server{}).Serve(ln)
}

func startReceipts(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line) + "/"
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall shows the processor time of a call on this side, beside that of
// net/http's client doing the same work, on 1 and on 32 connections.
func BenchmarkCall(b *testing.B) {
	url := startReceipts(b)
	params := []byte(`["0x` + strings.Repeat("ab", 32) + `"]`)
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("client/%d", callers), func(b *testing.B) {
			c, err := NewClient(Config{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			benchCalls(b, callers, func(ctx context.Context) ([]byte, error) {
				return c.CallSafe(ctx, "eth_getTransactionReceipt", params)
			})
		})
		b.Run(fmt.Sprintf("nethttp/%d", callers), func(b *testing.B) {
			hc := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
			defer hc.CloseIdleConnections()
			benchCalls(b, callers, func(ctx context.Context) ([]byte, error) { return netHTTP(ctx, hc, url, params) })
		})
	}
}

// netHTTP is the same call with net/http.
func netHTTP(ctx context.Context, hc *http.Client, url string, params []byte) ([]byte, error) {
	body := appendCall(nil, []byte("1"), "eth_getTransactionReceipt", params)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, defaultAnswer))
	if err != nil {
		return nil, err
	}
	a, ok := jsonrpc.ScanAnswer(text)
	if !ok {
		return nil, notJSONRPC
	}
	return bytes.Clone(a.Result), nil
}

func benchCalls(b *testing.B, callers int, call func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := call(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
}
