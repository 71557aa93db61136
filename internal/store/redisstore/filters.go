package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
)

// Filters keeps the filters that clients poll for all servers. It is made by
// Store.Filters.
type Filters struct {
	store                        *Store
	create, load, save, end, add *rueidis.Lua
	life                         string // seconds
	most, pending                string // places of an account, transactions of a network
}

// FilterBounds is how long filters live, in seconds, how many places an account has on a
// network, and how many pending transactions are remembered.
type FilterBounds struct{ Life, Places, Pending int }

// Filters keeps filters within bounds.
func (s *Store) Filters(b FilterBounds) *Filters {
	return &Filters{
		store: s, life: strconv.Itoa(b.Life), most: strconv.Itoa(b.Places), pending: strconv.Itoa(b.Pending),
		create: rueidis.NewLuaScript(createFilter), load: rueidis.NewLuaScript(loadFilter), save: rueidis.NewLuaScript(saveFilter),
		end: rueidis.NewLuaScript(endFilter), add: rueidis.NewLuaScript(addPending),
	}
}

// The scripts of filters. KEYS are the filter and the places of its account: a sorted
// set of who takes them, by when they become free. A large filter has several.
const (
	createFilter = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local places, life = tonumber(ARGV[2]), tonumber(ARGV[4])
if redis.call('ZCARD', KEYS[2]) + places > tonumber(ARGV[3]) then return 0 end
for i = 1, places do redis.call('ZADD', KEYS[2], now + life, KEYS[1] .. ' ' .. i) end
redis.call('EXPIRE', KEYS[2], life)
redis.call('SET', KEYS[1], ARGV[1], 'EX', life)
redis.call('SET', KEYS[1] .. ' places', ARGV[2], 'EX', life)
return 1
`
	renew = `
local function renew(life)
  local now = tonumber(redis.call('TIME')[1])
  for i = 1, tonumber(redis.call('GET', KEYS[1] .. ' places') or 1) do redis.call('ZADD', KEYS[2], now + life, KEYS[1] .. ' ' .. i) end
  redis.call('EXPIRE', KEYS[2], life)
  redis.call('EXPIRE', KEYS[1], life)
  redis.call('EXPIRE', KEYS[1] .. ' places', life)
end
`
	loadFilter = renew + `
local state = redis.call('GET', KEYS[1])
if state then renew(tonumber(ARGV[1])) end
return state
`
	saveFilter = renew + `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
renew(tonumber(ARGV[3]))
return 1
`
	endFilter = `
for i = 1, tonumber(redis.call('GET', KEYS[1] .. ' places') or 1) do redis.call('ZREM', KEYS[2], KEYS[1] .. ' ' .. i) end
redis.call('DEL', KEYS[1] .. ' places')
return redis.call('DEL', KEYS[1])
`
	// addPending has transactions in a sorted set by their position. KEYS: the set, the
	// last position. ARGV: how many are kept, for how long, the transactions.
	addPending = `
for i = 3, #ARGV do
  if not redis.call('ZSCORE', KEYS[1], ARGV[i]) then redis.call('ZADD', KEYS[1], redis.call('INCR', KEYS[2]), ARGV[i]) end
end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[1]))
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], 86400)
return 1
`
)

// names are the keys in Redis. The braces keep them together in a cluster.
func names(network, account, id string) []string {
	of := prefix + "filter:{" + network + " " + account + "}"
	return []string{of + " " + id, of}
}

// Create keeps a new filter, unless the account's places on the network are taken.
//
// Returns Busy when Redis does not answer, as all of these do.
func (f *Filters) Create(ctx context.Context, network, account, id string, places int, state []byte) (bool, error) {
	return f.did(ctx, f.create, names(network, account, id), string(state), strconv.Itoa(places), f.most, f.life)
}

// Load returns the state of a filter, or nil when there is none.
func (f *Filters) Load(ctx context.Context, network, account, id string) ([]byte, error) {
	const op = "redisstore.filter"
	client, err := f.store.connected(op)
	if err != nil {
		return nil, err
	}
	state, err := f.load.Exec(ctx, client, names(network, account, id), []string{f.life}).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, nil
	case err != nil:
		return nil, filterFault(ctx, err)
	}
	return state, nil
}

// Save replaces what Load returned, unless somebody else has replaced it.
func (f *Filters) Save(ctx context.Context, network, account, id string, before, after []byte) (bool, error) {
	return f.did(ctx, f.save, names(network, account, id), string(before), string(after), f.life)
}

// Remove ends a filter.
func (f *Filters) Remove(ctx context.Context, network, account, id string) (bool, error) {
	return f.did(ctx, f.end, names(network, account, id))
}

// did runs a script that tells whether it did it.
func (f *Filters) did(ctx context.Context, script *rueidis.Lua, keys []string, args ...string) (bool, error) {
	client, err := f.store.connected("redisstore.filter")
	if err != nil {
		return false, err
	}
	n, err := script.Exec(ctx, client, keys, args).AsInt64()
	if err != nil {
		return false, filterFault(ctx, err)
	}
	return n == 1, nil
}

// filterFault is for the client: without Redis a filter can't be read, and is not lost.
func filterFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nodegate.ErrTimeout("redisstore.filter", errors.Join(ctx.Err(), err))
	}
	return unreachable("redisstore.filter", err)
}

func pendingNames(network string) []string {
	of := prefix + "pending:{" + network + "}"
	return []string{of, of + " last"}
}

// AddPending appends transactions that entered a network's pool. One that is known stays
// where it is.
func (f *Filters) AddPending(ctx context.Context, network string, hashes []string) error {
	_, err := f.did(ctx, f.add, pendingNames(network), append([]string{f.pending, f.life}, hashes...)...)
	return err
}

// Pending returns the oldest transactions after a position, at most so many, and the
// position of the last one; with most 0, the position of the newest.
func (f *Filters) Pending(ctx context.Context, network string, after uint64, most int) ([]string, uint64, error) {
	client, err := f.store.connected("redisstore.filter")
	if err != nil {
		return nil, 0, err
	}
	keys := pendingNames(network)
	if most == 0 {
		last, err := client.Do(ctx, client.B().Get().Key(keys[1]).Build()).AsUint64()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, 0, filterFault(ctx, err)
		}
		return nil, last, nil
	}
	found, err := client.Do(ctx, client.B().Zrange().Key(keys[0]).Min("("+strconv.FormatUint(after, 10)).Max("+inf").Byscore().
		Limit(0, int64(most)).Withscores().Build()).AsZScores()
	if err != nil {
		return nil, 0, filterFault(ctx, err)
	}
	hashes := make([]string, len(found))
	for i, z := range found {
		hashes[i], after = z.Member, uint64(z.Score)
	}
	return hashes, after, nil
}
