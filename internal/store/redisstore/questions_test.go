package redisstore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
)

// asking is a server that answers with its name and the question.
func asking(t *testing.T, r *server, name string) *Questions {
	t.Helper()
	q := r.open().Questions("test")
	q.within = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		q.Answer(ctx, func(question []byte) []byte { return []byte(name + " heard " + string(question)) })
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return q
}

// settled waits until all servers listen: then as many others answer.
func settled(t *testing.T, q *Questions, others int) {
	t.Helper()
	within := q.within
	defer func() { q.within = within }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		q.within = 200 * time.Millisecond
		if answers, silent, err := q.Ask(t.Context(), []byte("ready")); err == nil && silent == 0 && len(answers) == others {
			return
		}
	}
	t.Fatalf("the servers did not find each other")
}

// TestQuestions: every server answers those of the others, each asker gets its own answers,
// and what is in a question stays as it is.
func TestQuestions(t *testing.T) {
	r := startRedis(t)
	list := []*Questions{asking(t, r, "one"), asking(t, r, "two"), asking(t, r, "three")}
	for _, q := range list {
		settled(t, q, 2)
	}
	const question = `{"a": "b c"} ` + "\n ü"
	for i, want := range [][]string{{"three", "two"}, {"one", "three"}, {"one", "two"}} {
		answers, silent, err := list[i].Ask(t.Context(), []byte(question))
		if err != nil || silent != 0 {
			t.Fatalf("server %d: %d silent, %v", i, silent, err)
		}
		var got []string
		for _, a := range answers {
			got = append(got, string(a))
		}
		slices.Sort(got)
		for j := range want {
			want[j] += " heard " + question
		}
		if !slices.Equal(got, want) {
			t.Errorf("server %d heard %q, want %q", i, got, want)
		}
	}
}

// TestSilentServer: one that hangs holds nobody up for longer than it may, and is counted.
func TestSilentServer(t *testing.T) {
	r := startRedis(t)
	q := asking(t, r, "one")
	settled(t, q, 0)
	hangs := r.open().Questions("test")
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { hangs.Answer(ctx, func([]byte) []byte { <-ctx.Done(); return nil }) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	q.within = 50 * time.Millisecond
	for deadline := time.Now().Add(time.Minute); ; {
		answers, silent, err := q.Ask(t.Context(), []byte("x"))
		if err == nil && silent == 1 && len(answers) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d answers, %d silent, %v", len(answers), silent, err)
		}
	}
}

// TestNobodyToAsk: a Redis that is away is Busy, at once.
func TestNobodyToAsk(t *testing.T) {
	r := startRedis(t)
	q := r.open().Questions("test")
	r.Stop()
	if _, _, err := q.Ask(t.Context(), []byte("x")); !errors.Is(err, nodegate.Busy) {
		t.Errorf("got %v", err)
	}
}

// TestManyQuestions: of more questions than a server can answer, so many wait and the others
// are not answered, however slow it is.
func TestManyQuestions(t *testing.T) {
	r := startRedis(t)
	q := r.open().Questions("test")
	var client rueidis.Client
	for err := error(nodegate.Busy); err != nil; {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		client, err = q.store.connected("test")
	}
	release, answered := make(chan struct{}), make(chan struct{}, 1000)
	answer := func([]byte) []byte {
		<-release
		answered <- struct{}{}
		return nil
	}
	const most = maxAnswering + maxWaiting
	for range 5 * most {
		q.received(t.Context(), client, rueidis.PubSubMessage{Channel: q.channel(), Message: "another 1 question"}, answer)
	}
	if n := len(q.queue); n != most {
		t.Errorf("%d questions are answered or wait, want %d", n, most)
	}
	close(release)
	for range most {
		<-answered
	}
	for q.queue <- struct{}{}; len(q.queue) > 1; { // the last answers leave
		runtime.Gosched()
	}
	if len(answered) != 0 {
		t.Errorf("%d more were answered", len(answered))
	}
}
