package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

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
	pause
}

// NonceBounds is how long a nonce is remembered, in seconds, and how many of a sender are.
type NonceBounds struct{ Life, Most int }

// noncePause is how long Redis is left alone after it hasn't answered in time. Who sends a
// transaction, or reads a pending nonce, waits for it; meanwhile nonces are what nodes say.
const noncePause = time.Second

// Nonces remembers nonces within bounds.
func (s *Store) Nonces(b NonceBounds) *Nonces {
	return &Nonces{
		store: s, life: strconv.Itoa(b.Life), most: strconv.Itoa(b.Most), sent: rueidis.NewLuaScript(sentScript), list: rueidis.NewLuaScript(noncesScript),
		pause: pause{after: 1, rest: noncePause},
	}
}

func nonceName(network, sender string) []string {
	return []string{prefix + "nonce:" + network + ":" + sender}
}

// Sent remembers the nonce of a transaction that was just sent.
//
// Returns Busy when Redis does not answer.
func (n *Nonces) Sent(ctx context.Context, network, sender string, nonce uint64) error {
	args := []string{strconv.FormatUint(nonce, 10), n.life, n.most}
	_, err := n.run(ctx, n.sent, nonceName(network, sender), args)
	return err
}

// Nonces returns the nonces that a sender used in the last seconds.
//
// Returns Busy when Redis does not answer.
func (n *Nonces) Nonces(ctx context.Context, network, sender string) ([]uint64, error) {
	reply, err := n.run(ctx, n.list, nonceName(network, sender), nil)
	if err != nil {
		return nil, err
	}
	list, err := reply.AsStrSlice()
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

// run runs a script, unless Redis is left alone.
func (n *Nonces) run(ctx context.Context, script *rueidis.Lua, keys, args []string) (rueidis.RedisResult, error) {
	const op = "redisstore.nonce"
	client, err := n.store.connected(op)
	if err != nil {
		return rueidis.RedisResult{}, err
	}
	if !n.allowed() {
		return rueidis.RedisResult{}, unreachable(op, nil)
	}
	reply := script.Exec(ctx, client, keys, args)
	if err = reply.Error(); !errors.Is(ctx.Err(), context.Canceled) { // a caller that left says nothing about Redis
		n.note(err)
	}
	if err != nil {
		return reply, unreachable(op, err)
	}
	return reply, nil
}
