package redisstore

import (
	"context"
	"strconv"
)

// sentScript remembers a nonce until it expires. KEYS: a sorted set of the nonces by when
// they do. ARGV: the nonce, seconds, the most that are kept.
const sentScript = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[3]))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
`

// noncesScript returns those that have not expired.
const noncesScript = `return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. redis.call('TIME')[1], '+inf')`

// How long a nonce is remembered, in seconds, and how many of a sender are. The same as
// on one server (internal/rpc/nonce).
const (
	noncesKept = 15
	maxNonces  = 256
)

func nonceName(network, sender string) []string {
	return []string{prefix + "nonce:" + network + ":" + sender}
}

// Sent remembers the nonce of a transaction that was just sent.
//
// Returns Busy when Redis does not answer.
func (s *Store) Sent(ctx context.Context, network, sender string, nonce uint64) error {
	client, err := s.connected("redisstore.nonce")
	if err != nil {
		return err
	}
	args := []string{strconv.FormatUint(nonce, 10), strconv.Itoa(noncesKept), strconv.Itoa(maxNonces)}
	if err := s.sent.Exec(ctx, client, nonceName(network, sender), args).Error(); err != nil {
		return unreachable("redisstore.nonce", err)
	}
	return nil
}

// Nonces returns the nonces that a sender used in the last seconds.
//
// Returns Busy when Redis does not answer.
func (s *Store) Nonces(ctx context.Context, network, sender string) ([]uint64, error) {
	client, err := s.connected("redisstore.nonce")
	if err != nil {
		return nil, err
	}
	list, err := s.nonces.Exec(ctx, client, nonceName(network, sender), nil).AsStrSlice()
	if err != nil {
		return nil, unreachable("redisstore.nonce", err)
	}
	nonces := make([]uint64, 0, len(list))
	for _, text := range list {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			nonces = append(nonces, n)
		}
	}
	return nonces, nil
}
