package operatoralert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inbox is a channel that keeps what it gets, and fails while it is down.
type inbox struct {
	mu    sync.Mutex
	got   []string
	tries int
	down  bool
}

func (b *inbox) channel() Channel {
	return Channel{Name: "test", Send: func(_ context.Context, m Message) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tries++
		if b.down {
			return errors.New("down")
		}
		b.got = append(b.got, m.Status+" "+m.Kind+":"+m.Subject)
		return nil
	}}
}

func (b *inbox) wants(t *testing.T, when, want string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := strings.Join(b.got, ", "); got != want {
		t.Errorf("%s: operators got %q, want %q", when, got, want)
	}
}

// world is what is wrong, as all servers see it, and who holds which name.
type world struct {
	mu       sync.Mutex
	problems []Problem
	holders  map[string]string
	ends     map[string]time.Time
	broken   bool // the leases
}

func (w *world) set(list ...Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = list
}

func (w *world) check(time.Time) []Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problems
}

func (w *world) hold(server string) func(context.Context, string, time.Duration) (bool, error) {
	return func(_ context.Context, name string, until time.Duration) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken {
			return false, errors.New("no leases")
		}
		if w.holders[name] != server && time.Now().Before(w.ends[name]) {
			return false, nil
		}
		w.holders[name], w.ends[name] = server, time.Now().Add(until)
		return true, nil
	}
}

func newWorld() *world {
	return &world{holders: map[string]string{}, ends: map[string]time.Time{}}
}

func (w *world) watch(server string, to *inbox) *Watch {
	return Start(Config{
		Check: w.check, Every: 10 * time.Second, After: time.Minute, Lease: w.hold(server), Channels: []Channel{to.channel()}, Server: server,
		Log: slog.New(slog.DiscardHandler),
	})
}

var nodeDown = Problem{Kind: "node_down", Subject: "main/a", Summary: "Node a of main is down."}

// TestOnce: one of two servers reports, once when the problem has lasted and once when it is over.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, to := newWorld(), &inbox{}
		first, second := w.watch("one", to), w.watch("two", to)
		w.set(nodeDown)
		time.Sleep(30 * time.Second)
		w.set()
		time.Sleep(time.Minute)
		to.wants(t, "a short one", "")
		w.set(nodeDown)
		time.Sleep(10 * time.Minute)
		to.wants(t, "it lasts", "firing node_down:main/a")
		w.set()
		time.Sleep(30 * time.Second) // of two reports at the same moment either may come first
		w.set(Problem{Kind: "disk_low", Summary: "The disk is low."})
		time.Sleep(5 * time.Minute)
		to.wants(t, "over, and another", "firing node_down:main/a, resolved node_down:main/a, firing disk_low:")
		w.set()
		time.Sleep(5 * time.Minute)
		to.wants(t, "all is well", "firing node_down:main/a, resolved node_down:main/a, firing disk_low:, resolved disk_low:")
		first.Close()
		second.Close()
	})
}

// TestFlapping: a problem that comes and goes is reported once.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, to := newWorld(), &inbox{}
		watch := w.watch("one", to)
		w.set(nodeDown)
		time.Sleep(2 * time.Minute)
		for range 10 {
			w.set()
			time.Sleep(30 * time.Second)
			w.set(nodeDown)
			time.Sleep(30 * time.Second)
		}
		to.wants(t, "flapping", "firing node_down:main/a")
		watch.Close()
	})
}

// TestServerGone: another server takes over, also while no leases are to be had.
func TestServerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, to := newWorld(), &inbox{}
		first := w.watch("one", to)
		w.set(nodeDown)
		time.Sleep(2 * time.Minute)
		second := w.watch("two", to)
		time.Sleep(5 * time.Minute)
		to.wants(t, "the first reports", "firing node_down:main/a")
		first.Close()
		time.Sleep(5 * time.Minute)
		to.wants(t, "the second takes over", "firing node_down:main/a, firing node_down:main/a")
		w.set()
		time.Sleep(5 * time.Minute)
		w.mu.Lock()
		w.broken = true
		w.mu.Unlock()
		w.set(nodeDown)
		time.Sleep(5 * time.Minute)
		to.wants(t, "without leases", "firing node_down:main/a, firing node_down:main/a, resolved node_down:main/a, firing node_down:main/a")
		second.Close()
	})
}

// TestRetries: a channel that is down gets the message later, and is given up in the end.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, to := newWorld(), &inbox{down: true}
		watch := w.watch("one", to)
		w.set(nodeDown)
		time.Sleep(3 * time.Minute)
		to.mu.Lock()
		to.down = false
		to.mu.Unlock()
		time.Sleep(10 * time.Minute)
		to.wants(t, "it is up again", "firing node_down:main/a")
		to.mu.Lock()
		to.down, to.tries = true, 0
		to.mu.Unlock()
		w.set()
		time.Sleep(5 * time.Hour)
		watch.Close()
		if to.tries != maxAttempts {
			t.Errorf("tried %d times, want %d", to.tries, maxAttempts)
		}
	})
}

// TestWebhook: a real receiver gets the message and can check who sent it.
func TestWebhook(t *testing.T) {
	var got Message
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		seconds, mac, _ := strings.Cut(strings.TrimPrefix(req.Header.Get(Signature), "t="), ",v1=")
		want := hmac.New(sha256.New, []byte("shared"))
		want.Write([]byte(seconds + "." + string(body)))
		if mac != hex.EncodeToString(want.Sum(nil)) {
			t.Errorf("the signature %q is wrong", req.Header.Get(Signature))
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	hook := Webhook(receiver.URL+"/secret-path", "shared")
	sent := Message{Status: firing, Kind: "disk_low", Summary: "The disk is low.", Text: "[firing] The disk is low. (one)", Server: "one", Since: time.Unix(1000, 0).UTC(), At: time.Unix(1060, 0).UTC()}
	if err := hook.Send(t.Context(), sent); err != nil || got != sent {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, status = range []int{http.StatusFound, http.StatusInternalServerError} {
		if err := hook.Send(t.Context(), sent); err == nil {
			t.Errorf("status %d is no error", status)
		}
	}
	receiver.Close()
	if err := hook.Send(t.Context(), sent); err == nil || strings.Contains(err.Error(), "secret-path") {
		t.Errorf("a receiver that is gone: %v", err)
	}
}
