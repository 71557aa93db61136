package redisstore

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// BlockBounds are the bounds of the blocks that servers give each other.
type BlockBounds struct {
	Within time.Duration // for one answer of Redis
	Lease  time.Duration // for how long the others wait for the server that fetches a block
	Life   time.Duration // of a block
	Slots  uint64        // blocks of one network; another one takes the place of the oldest
	Bytes  int           // of one block
}

// Blocks keeps the blocks that one server fetched from a node for the others. It is made by
// Store.Blocks.
type Blocks struct {
	store      *Store
	bounds     BlockBounds
	take, drop *rueidis.Lua
	pause
}

const (
	// takeBlock returns a block, or else whether the asker is to fetch it: 1 if nobody does, and
	// the others wait from then on. KEYS: the block's slot, the lease. ARGV: how the block's
	// value begins, its largest size, the server, milliseconds.
	takeBlock = `
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) == ARGV[1] then return redis.call('GETRANGE', KEYS[1], 0, ARGV[2]) end
if redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4]) then return 1 end
return 0
`
	// dropLease ends the wait of the others. KEYS: the lease. ARGV: the server.
	dropLease = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`
)

// Faults of Redis in a row, and for how long it is left alone after them.
const (
	blockFaults = 2
	blockRest   = 5 * time.Second
)

// Blocks keeps blocks within bounds.
func (s *Store) Blocks(b BlockBounds) *Blocks {
	return &Blocks{
		store: s, bounds: b, take: rueidis.NewLuaScript(takeBlock), drop: rueidis.NewLuaScript(dropLease),
		pause: pause{after: blockFaults, rest: blockRest},
	}
}

// blockKey is what a value says that it is of. The network comes first.
func blockKey(network string, hash [32]byte) []byte { return append([]byte(network+" "), hash[:]...) }

// slot is the name of a block's place. Blocks that follow each other have different ones.
func (b *Blocks) slot(network string, number uint64) string {
	return prefix + "block:{" + network + "} " + strconv.FormatUint(number%b.bounds.Slots, 10)
}

func leaseName(network string, hash [32]byte) string {
	return prefix + "block:{" + network + "} lease " + hex.EncodeToString(hash[:])
}

// do makes one call to Redis. It is not ok where Redis can't be asked now.
func (b *Blocks) do(ctx context.Context, call func(context.Context, rueidis.Client) rueidis.RedisResult) (m rueidis.RedisMessage, ok bool) {
	if !b.allowed() {
		return m, false
	}
	client, err := b.store.connected("redisstore.block")
	if err != nil {
		return m, false
	}
	within, cancel := context.WithTimeout(ctx, b.bounds.Within)
	defer cancel()
	m, err = call(within, client).ToMessage()
	if ctx.Err() == nil { // a caller that went away says nothing about Redis
		b.note(err)
	}
	return m, err == nil
}

// Take returns what another server put for a block. Without it, the caller is to fetch the
// block, or to wait, because another server is about to put it. A Redis that is away or slow,
// and a value that is damaged or somebody else's, are a block that nobody put.
func (b *Blocks) Take(ctx context.Context, network string, number uint64, hash [32]byte) (value []byte, wait bool) {
	key := blockKey(network, hash)
	args := []string{string(packed(key)), strconv.Itoa(b.bounds.Bytes + frame + len(key)), b.store.id, strconv.FormatInt(b.bounds.Lease.Milliseconds(), 10)}
	m, ok := b.do(ctx, func(ctx context.Context, c rueidis.Client) rueidis.RedisResult {
		return b.take.Exec(ctx, c, []string{b.slot(network, number), leaseName(network, hash)}, args)
	})
	if !ok {
		return nil, false
	}
	if m.IsInt64() {
		mine, err := m.AsInt64()
		return nil, err == nil && mine == 0
	}
	found, err := m.AsBytes()
	if err != nil {
		return nil, false
	}
	if value, ok = unpack(found, key); !ok || len(value) > b.bounds.Bytes {
		return nil, false
	}
	return value, false
}

// Put gives a block to the other servers, unless it is too large.
func (b *Blocks) Put(ctx context.Context, network string, number uint64, hash [32]byte, value []byte) {
	if len(value) == 0 || len(value) > b.bounds.Bytes {
		b.Drop(ctx, network, hash)
		return
	}
	packed := rueidis.BinaryString(pack(blockKey(network, hash), value))
	b.do(ctx, func(ctx context.Context, c rueidis.Client) rueidis.RedisResult {
		return c.Do(ctx, c.B().Set().Key(b.slot(network, number)).Value(packed).Px(b.bounds.Life).Build())
	})
}

// Drop is for a block that this server did not get: another one may fetch it.
func (b *Blocks) Drop(ctx context.Context, network string, hash [32]byte) {
	b.do(ctx, func(ctx context.Context, c rueidis.Client) rueidis.RedisResult {
		return b.drop.Exec(ctx, c, []string{leaseName(network, hash)}, []string{b.store.id})
	})
}
