package edge

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
)

// benchClient, when set in the environment, makes this binary the client of
// BenchmarkServe: a process of its own, so that its work is not counted.
const benchClient = "EDGE_BENCH_CLIENT"

func TestMain(m *testing.M) {
	if where := os.Getenv(benchClient); where != "" {
		if err := sendRequests(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// BenchmarkServe is a whole request on eight connections, from the listener to the
// answer, over a node that costs nothing: on the fast path, and by net/http alone.
// It reports the processor time of the server's side.
func BenchmarkServe(b *testing.B) {
	b.Run("fastpath", func(b *testing.B) {
		e := benchEdge(b)
		full := &http.Server{Handler: e, ReadHeaderTimeout: time.Second}
		s := fastpath.New(e, full)
		benchServe(b, s.Serve, s.Close)
	})
	b.Run("nethttp", func(b *testing.B) {
		s := &http.Server{Handler: benchEdge(b), ReadHeaderTimeout: time.Second}
		benchServe(b, s.Serve, s.Close)
	})
}

func benchEdge(b testing.TB) *Edge {
	cfg := Config{
		Networks: []nodegate.Network{{Name: "alpha", Node: idleNode{}}}, DefaultNetwork: "alpha",
		Auth: namedKeys{}, Methods: []string{"echo"}, BodyBytes: bodyLimit, BatchItems: 10, ResponseBytes: 30_000,
		Log: slog.New(slog.DiscardHandler), Metrics: obs.NewMetrics(), Ready: func(string) error { return nil },
	}
	Bill(b, &cfg)
	return New(cfg)
}

func benchServe(b *testing.B, serve func(net.Listener) error, stop func() error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(ln) }()
	defer func() { _ = stop(); <-served }() // it ends because it is stopped
	client := exec.Command(os.Args[0])
	client.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", benchClient, ln.Addr(), b.N))
	client.Stderr = os.Stderr
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	if err := client.Run(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sendRequests sends so many requests to an address on eight connections.
func sendRequests(where string) error {
	addr, text, _ := strings.Cut(where, " ")
	count, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	const conns = 8
	errs := make([]error, conns)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { errs[i] = sendOn(addr, (count+i)/conns) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func sendOn(addr string, count int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	request, r := []byte(ask{body: okCall}.wire("")), bufio.NewReader(conn)
	for range count {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d, %w", resp.StatusCode, err)
		}
	}
	return nil
}
