package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// replyWithin is how long a server waits for the answers of the others. One that hangs
// holds up a page no longer.
const replyWithin = 500 * time.Millisecond

// maxAnswering is how many questions a server answers at once, and maxWaiting how many wait for
// that. More are not answered: whoever asks shows that a server is missing.
const maxAnswering, maxWaiting = 2, 32

// Questions are what the servers ask each other about one topic. Questions and answers pass
// through Redis and are not kept there.
type Questions struct {
	store  *Store
	topic  string
	within time.Duration // tests give it more
	places chan struct{} // of those that are answered
	queue  chan struct{} // of those that are answered or wait

	mu      sync.Mutex
	last    uint64
	waiting map[string]*asked // by number
}

// asked is a question of this server.
type asked struct {
	answers [][]byte
	heard   int // servers that have answered, this one too
	changed chan struct{}
}

// Questions returns the questions about a topic.
func (s *Store) Questions(topic string) *Questions {
	return &Questions{store: s, topic: topic, within: replyWithin, places: make(chan struct{}, maxAnswering), queue: make(chan struct{}, maxAnswering+maxWaiting), waiting: map[string]*asked{}}
}

func (q *Questions) channel() string { return prefix + "ask:" + q.topic }

// replies is the channel on which a server is answered.
func (q *Questions) replies(server string) string {
	return prefix + "answers:" + q.topic + ":" + server
}

// Ask returns what the other servers answer to a question, in any order, and how many of
// them did not answer in time.
//
// Returns Busy when Redis does not answer.
func (q *Questions) Ask(ctx context.Context, question []byte) (answers [][]byte, silent int, err error) {
	const op = "redisstore.ask"
	client, err := q.store.connected(op)
	if err != nil {
		return nil, 0, err
	}
	number, a := q.begin()
	defer q.end(number)
	message := q.store.id + " " + number + " " + string(question)
	servers, err := client.Do(ctx, client.B().Publish().Channel(q.channel()).Message(message).Build()).AsInt64()
	if err != nil {
		return nil, 0, unreachable(op, err)
	}
	answers, silent = q.await(ctx, a, int(servers))
	return answers, silent, nil
}

func (q *Questions) begin() (string, *asked) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	number, a := strconv.FormatUint(q.last, 10), &asked{changed: make(chan struct{}, 1)}
	q.waiting[number] = a
	return number, a
}

func (q *Questions) end(number string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, number)
}

// await waits until so many servers have answered, or long enough.
func (q *Questions) await(ctx context.Context, a *asked, servers int) (answers [][]byte, silent int) {
	timer := time.NewTimer(q.within)
	defer timer.Stop()
	for late := false; ; {
		q.mu.Lock()
		answers, silent = a.answers, servers-a.heard
		q.mu.Unlock()
		if silent <= 0 || late {
			return answers, max(0, silent)
		}
		select {
		case <-a.changed:
		case <-timer.C:
			late = true
		case <-ctx.Done():
			late = true
		}
	}
}

// heard takes in an answer; nil counts a server that has none.
func (q *Questions) heard(number string, answer []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.waiting[number]
	if a == nil {
		return // too late
	}
	if a.heard++; answer != nil {
		a.answers = append(a.answers, answer)
	}
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// Answer answers the questions of the other servers until ctx ends, and takes in the
// answers to those of this one. While Redis is away they are missed.
func (q *Questions) Answer(ctx context.Context, answer func(question []byte) []byte) {
	for ctx.Err() == nil {
		if client, err := q.store.connected("redisstore.answer"); err == nil {
			channels := client.B().Subscribe().Channel(q.channel(), q.replies(q.store.id)).Build()
			_ = client.Receive(ctx, channels, func(m rueidis.PubSubMessage) { q.received(ctx, client, m, answer) })
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

func (q *Questions) received(ctx context.Context, client rueidis.Client, m rueidis.PubSubMessage, answer func([]byte) []byte) {
	first, rest, _ := strings.Cut(m.Message, " ")
	if m.Channel == q.replies(q.store.id) {
		q.heard(first, []byte(rest))
		return
	}
	number, question, _ := strings.Cut(rest, " ")
	if first == q.store.id {
		q.heard(number, nil) // this server knows by itself
		return
	}
	select {
	case q.queue <- struct{}{}:
	default:
		return
	}
	go func() { // what reads from Redis must not wait
		defer func() { <-q.queue }()
		q.places <- struct{}{}
		defer func() { <-q.places }()
		reply := number + " " + string(answer([]byte(question)))
		client.Do(ctx, client.B().Publish().Channel(q.replies(first)).Message(reply).Build())
	}()
}
