package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// headsKept is for how many seconds a head is remembered. A chain that was recreated
// is held to its old height for no longer than that.
const headsKept = 600

// ackWithin is how long a server waits for the others to have taken in a head. One that
// hangs holds the others up no longer.
const ackWithin = 250 * time.Millisecond

// A head has 20 digits, so that two compare as text: a Lua number would lose the last
// digits of large ones.
const (
	// announceScript publishes that a head is coming, with where to acknowledge that
	// (ARGV[2]), unless one as high is there. It returns to how many servers.
	announceScript = `
local seen = redis.call('GET', KEYS[1])
if seen and #seen == 20 and seen:match('^%d+$') and seen >= ARGV[1] then return 0 end
return redis.call('PUBLISH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
`
	// raiseScript keeps the larger of the stored number and ARGV[1], and publishes a new
	// one.
	raiseScript = `
local seen = redis.call('GET', KEYS[1])
if seen and #seen == 20 and seen:match('^%d+$') and seen > ARGV[1] then return seen end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
if seen ~= ARGV[1] then redis.call('PUBLISH', KEYS[1], ARGV[1]) end
return ARGV[1]
`
)

// acks counts the servers that have taken in what this one published.
type acks struct {
	mu      sync.Mutex
	within  time.Duration // tests give it more
	changed chan struct{}
	of      map[string]int // by network and number
}

// Raise tells all servers that a network has come to a block, waits until they have
// taken that in, tells them so, and returns the highest number that any of them has told
// in the last minutes.
//
// Returns Busy when Redis does not answer; a server goes by its own nodes then.
func (s *Store) Raise(ctx context.Context, network string, number uint64) (highest uint64, err error) {
	const op = "redisstore.raise"
	client, err := s.connected(op)
	if err != nil {
		return 0, err
	}
	keys, mine := []string{headName(network)}, fmt.Sprintf("%020d", number)
	servers, err := s.announce.Exec(ctx, client, keys, []string{mine, s.ackName(network)}).AsInt64()
	if err != nil {
		return 0, unreachable(op, err)
	}
	s.acks.await(ctx, network+" "+mine, int(servers))
	text, err := s.raise.Exec(ctx, client, keys, []string{mine, strconv.Itoa(headsKept)}).ToString()
	if err != nil {
		return 0, unreachable(op, err)
	}
	if highest, err = strconv.ParseUint(text, 10, 64); err != nil {
		return number, nil // no head of ours: somebody else wrote it
	}
	return highest, nil
}

// await waits until so many servers have acknowledged, or long enough.
func (a *acks) await(ctx context.Context, what string, servers int) {
	timer := time.NewTimer(a.within)
	defer timer.Stop()
	for {
		a.mu.Lock()
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		changed, got := a.changed, a.of[what]
		a.mu.Unlock()
		if got >= servers {
			break
		}
		select {
		case <-changed:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		break
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, what)
}

// maxAcks bounds those that came too late to be waited for.
const maxAcks = 1000

func (a *acks) add(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil || len(a.of) > maxAcks {
		a.of = map[string]int{}
	}
	a.of[what]++
	if a.changed != nil {
		close(a.changed)
	}
	a.changed = make(chan struct{})
}

func headName(network string) string { return prefix + "head:" + network }

// ackName is the channel on which the others acknowledge what this server publishes.
func (s *Store) ackName(network string) string { return prefix + "head-acks:" + s.id + ":" + network }

// Watch calls coming with every head that a server is about to tell of, and open once all
// servers have heard that, until ctx ends. While Redis is away they are missed.
func (s *Store) Watch(ctx context.Context, network string, coming, open func(number uint64)) {
	for ctx.Err() == nil {
		if client, err := s.connected("redisstore.watch"); err == nil {
			channels := client.B().Subscribe().Channel(headName(network), s.ackName(network)).Build()
			_ = client.Receive(ctx, channels, func(m rueidis.PubSubMessage) { s.heard(ctx, client, network, m, coming, open) })
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// heard takes in a head that was published, and says so, or an acknowledgement of ours.
func (s *Store) heard(ctx context.Context, client rueidis.Client, network string, m rueidis.PubSubMessage, coming, open func(uint64)) {
	if m.Channel == s.ackName(network) {
		s.acks.add(network + " " + m.Message)
		return
	}
	text, answer, first := strings.Cut(m.Message, " ")
	number, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
	case first:
		coming(number)
		go client.Do(ctx, client.B().Publish().Channel(answer).Message(text).Build())
	default:
		open(number)
	}
}
