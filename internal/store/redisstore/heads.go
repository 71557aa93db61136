package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// headsKept is for how many seconds a head is remembered. A chain that was recreated
// is held to its old height for no longer than that.
const headsKept = 600

// raiseScript keeps the larger of the stored number and ARGV[1]. Both have 20 digits,
// so they compare as text: a Lua number would lose the last digits of large ones.
const raiseScript = `
local seen = redis.call('GET', KEYS[1])
if seen and #seen == 20 and seen:match('^%d+$') and seen > ARGV[1] then return seen end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
if seen ~= ARGV[1] then redis.call('PUBLISH', KEYS[1], ARGV[1]) end
return ARGV[1]
`

// Raise tells all servers that a network has come to a block, and returns the highest
// number that any of them has told in the last minutes.
//
// Returns Busy when Redis does not answer; a server goes by its own nodes then.
func (s *Store) Raise(ctx context.Context, network string, number uint64) (highest uint64, err error) {
	const op = "redisstore.raise"
	client, err := s.connected(op)
	if err != nil {
		return 0, err
	}
	text, err := s.raise.Exec(ctx, client, []string{headName(network)},
		[]string{fmt.Sprintf("%020d", number), strconv.Itoa(headsKept)}).ToString()
	if err != nil {
		return 0, unreachable(op, err)
	}
	if highest, err = strconv.ParseUint(text, 10, 64); err != nil {
		return number, nil // no head of ours: somebody else wrote it
	}
	return highest, nil
}

func headName(network string) string { return prefix + "head:" + network }

// Watch calls seen with every head that a server tells of, until ctx ends. While Redis is
// away they are missed.
func (s *Store) Watch(ctx context.Context, network string, seen func(highest uint64)) {
	for ctx.Err() == nil {
		if client, err := s.connected("redisstore.watch"); err == nil {
			_ = client.Receive(ctx, client.B().Subscribe().Channel(headName(network)).Build(), func(m rueidis.PubSubMessage) {
				if highest, err := strconv.ParseUint(m.Message, 10, 64); err == nil {
					seen(highest)
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}
