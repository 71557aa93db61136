package tracing

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/full"
)

// logged is a log that a test can read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		all := l.b.String()
		l.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the log has no %q:\n%s", text, all)
		}
	}
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// openFor makes a tracer of all requests.
func openFor(t *testing.T, url string, to io.Writer) *Tracer {
	t.Helper()
	tracer, err := Open(Config{URL: url + "/v1/traces", Sample: 100, Log: slog.New(slog.NewTextHandler(to, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func span(tracer *Tracer) {
	_, s := tracer.Begin(context.Background(), "rpc")
	s.End(nil)
}

// TestSilentCollector: a collector that takes connections and never answers holds up nobody, and
// what waits for it has a bound. What is dropped is counted and logged. The test ends only if no
// span waits for it.
func TestSilentCollector(t *testing.T) {
	full.Slow(t)
	gone := make(chan struct{})
	asked := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-gone
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(gone) }) // before that
	log := &logged{}
	tracer := openFor(t, s.URL, log)
	for range batchSpans {
		span(tracer)
	}
	<-asked // and it hangs
	for range 10 * queueSpans {
		span(tracer)
	}
	if full, refused := tracer.Dropped(); full != 9*queueSpans+batchSpans || refused != 0 {
		t.Errorf("%d and %d spans were dropped, want %d and none", full, refused, 9*queueSpans+batchSpans)
	}
	log.await(t, "trace spans dropped")
	if n := log.count("trace spans dropped"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	if err := tracer.Close(context.Background()); err == nil {
		t.Error("all spans were sent to a collector that never answers")
	}
}

// TestCollectorReturns: the log says once that spans are dropped, and once that they are not.
func TestCollectorReturns(t *testing.T) {
	full.Slow(t)
	var mu sync.Mutex
	status := http.StatusBadRequest // which is not tried again
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
		if status != http.StatusOK {
			_, _ = io.WriteString(w, strings.Repeat("x", 2000))
		}
	}))
	t.Cleanup(s.Close)
	log := &logged{}
	tracer := openFor(t, s.URL, log)
	span(tracer)
	log.await(t, "can't send traces")
	if full, refused := tracer.Dropped(); full != 0 || refused != 1 {
		t.Errorf("%d and %d spans were dropped, want none and 1", full, refused)
	}
	mu.Lock()
	status = http.StatusOK
	mu.Unlock()
	span(tracer)
	log.await(t, "accepts spans again")
	if err := tracer.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := len(log.b.String()); n > 1000 {
		t.Errorf("%d bytes were logged", n)
	}
}
