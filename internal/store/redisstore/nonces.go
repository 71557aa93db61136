package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
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

// Nonces remembers the nonces of transactions that were just sent, for all servers. It is
// made by Store.Nonces.
type Nonces struct {
	store      *Store
	sent, list *rueidis.Lua
	life, most string // seconds, nonces of a sender
}

// NonceBounds is how long a nonce is remembered, in seconds, and how many of a sender are.
type NonceBounds struct{ Life, Most int }

// Nonces remembers nonces within bounds.
func (s *Store) Nonces(b NonceBounds) *Nonces {
	return &Nonces{
		store: s, life: strconv.Itoa(b.Life), most: strconv.Itoa(b.Most), sent: rueidis.NewLuaScript(sentScript), list: rueidis.NewLuaScript(noncesScript),
	}
}

func nonceName(network, sender string) []string {
	return []string{prefix + "nonce:" + network + ":" + sender}
}

// Sent remembers the nonce of a transaction that was just sent.
//
// Returns Busy when Redis does not answer.
func (n *Nonces) Sent(ctx context.Context, network, sender string, nonce uint64) error {
	client, err := n.store.connected("redisstore.nonce")
	if err != nil {
		return err
	}
	args := []string{strconv.FormatUint(nonce, 10), n.life, n.most}
	if err := n.sent.Exec(ctx, client, nonceName(network, sender), args).Error(); err != nil {
		return unreachable("redisstore.nonce", err)
	}
	return nil
}

// Nonces returns the nonces that a sender used in the last seconds.
//
// Returns Busy when Redis does not answer.
func (n *Nonces) Nonces(ctx context.Context, network, sender string) ([]uint64, error) {
	client, err := n.store.connected("redisstore.nonce")
	if err != nil {
		return nil, err
	}
	list, err := n.list.Exec(ctx, client, nonceName(network, sender), nil).AsStrSlice()
	if err != nil {
		return nil, unreachable("redisstore.nonce", err)
	}
	nonces := make([]uint64, 0, len(list))
	for _, text := range list {
		if nonce, err := strconv.ParseUint(text, 10, 64); err == nil {
			nonces = append(nonces, nonce)
		}
	}
	return nonces, nil
}
