package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
)

// prefix begins every name in Redis.
const prefix = "nodegate:"

// ioTimeout is when a connection that does not answer is given up for a new one.
const ioTimeout = time.Second

// connectAgain is the pause before a Redis that was away at the start is tried again.
const connectAgain = 500 * time.Millisecond

// Store is a connection to Redis, for any number of users at once. It comes back by
// itself when it is lost.
type Store struct {
	client   atomic.Pointer[rueidis.Client] // nil until Redis has answered once
	options  rueidis.ClientOption
	take     *rueidis.Lua
	announce *rueidis.Lua
	raise    *rueidis.Lua
	id       string // of this server among those that publish
	acks     acks
	observe  atomic.Pointer[Observe] // nil reports to nobody
	log      *slog.Logger
	ending   context.Context // done when the store closes
	stop     context.CancelFunc
	ended    sync.WaitGroup
}

var _ ratelimit.Shared = (*Store)(nil)

// Open connects to a Redis: redis://[user:password@]host:port[/database], rediss://
// over TLS, or unix://[user:password@]/path/to/socket; with ?master_set=NAME the host
// is a Sentinel's. One that does not answer is no reason not to start: every call is
// Busy until it does.
//
// Returns BadConfig for an address that can't be read, or a Redis that refuses us or
// is a node of a Redis Cluster.
func Open(ctx context.Context, url string, log *slog.Logger) (*Store, error) {
	options, err := optionsOf(url)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	s := &Store{
		options: options, id: rand.Text(), acks: acks{within: ackWithin}, log: log, take: rueidis.NewLuaScript(takeScript), announce: rueidis.NewLuaScript(announceScript), raise: rueidis.NewLuaScript(raiseScript),
	}
	err = s.connect(ctx)
	if refused := refusal(err); refused != nil {
		return nil, refused
	}
	s.ending, s.stop = context.WithCancel(context.Background())
	if err != nil {
		log.Warn("Redis does not answer: this server applies limits on its own until it does", "err", unreachable("redisstore.open", err))
		s.ended.Go(func() { s.keepTrying(s.ending) })
	}
	return s, nil
}

// optionsOf reads an address.
//
// Returns BadConfig.
func optionsOf(url string) (rueidis.ClientOption, error) {
	options, err := rueidis.ParseURL(url)
	if err != nil { // its text may hold the password
		return options, bad("the address of Redis can't be read: write redis://host:port, rediss://host:port or unix:///path/to/socket")
	}
	options.Dialer.Timeout = ioTimeout
	options.ConnWriteTimeout = ioTimeout
	options.ForceSingleClient = true
	options.DisableCache = true
	options.ClientSetInfo = rueidis.DisableClientSetInfo // a right less to ask for
	options.DisableRetry = true                          // a script that takes credits must not run twice
	options.AlwaysPipelining = true                      // so that the end of a context ends a wait
	watched(&options, url)
	return options, nil
}

func bad(msg string) error {
	return &nodegate.Error{Op: "redisstore.open", Code: nodegate.BadConfig, Msg: msg}
}

// refusal is the reason why trying again doesn't help, or nil.
//
// Returns BadConfig.
func refusal(err error) error {
	if errors.Is(err, nodegate.BadConfig) {
		return err
	}
	if e, answered := rueidis.IsRedisErr(err); answered && !e.IsLoading() {
		return bad("Redis rejected the connection: check the user, the password and the database in its URL")
	}
	return nil
}

// connect makes the client, once; from then on it reconnects by itself.
func (s *Store) connect(ctx context.Context) error {
	client, err := rueidis.NewClient(s.options)
	if err != nil {
		return err
	}
	if err := usable(ctx, client); err != nil {
		client.Close()
		return err
	}
	client = observed{client, s}
	s.client.Store(&client)
	return nil
}

// keepTrying connects to a Redis that was away at the start. A Redis that refuses us by then may
// be set right, so it is tried again, too; the reason is logged once.
func (s *Store) keepTrying(ctx context.Context) {
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(connectAgain):
		}
		err := s.connect(ctx)
		if err == nil {
			s.log.Info("Redis answers: limits are shared now")
			return
		}
		if refused := refusal(err); refused != nil && refused.Error() != logged {
			logged = refused.Error()
			s.log.Error("Redis can't be used: this server applies limits on its own until it can", "err", refused)
		}
	}
}

// connected returns the client.
//
// Returns Busy while Redis has not answered yet.
func (s *Store) connected(op string) (rueidis.Client, error) {
	if c := s.client.Load(); c != nil {
		return *c, nil
	}
	return nil, unreachable(op, nil)
}

func unreachable(op string, err error) error {
	return &nodegate.Error{Op: op, Code: nodegate.Busy, Msg: "Redis does not answer: check that it runs and that the address and password are right", Err: err}
}

// Take takes credits of one bucket, in one step. See ratelimit.Shared.
//
// Returns Busy when Redis does not answer.
func (s *Store) Take(ctx context.Context, a ratelimit.Ask) (ratelimit.Lease, error) {
	const op = "redisstore.take"
	args := make([]string, 0, 12)
	for _, n := range [...]int64{a.Limit.Rate, a.Limit.Burst, a.Limit.PerDay, a.Need, a.Want, a.Owed, a.Day, a.Spent, a.Seen, a.Incarnation, a.Asks, newIncarnation()} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	client, err := s.connected(op)
	if err != nil {
		return ratelimit.Lease{}, err
	}
	got, err := s.take.Exec(ctx, client, []string{prefix + "limit:" + a.Name}, args).AsIntSlice()
	if err != nil {
		return ratelimit.Lease{}, unreachable(op, err)
	}
	if len(got) != 6 {
		return ratelimit.Lease{}, &nodegate.Error{Op: op, Code: nodegate.Internal, Msg: "Redis didn't answer with a lease"}
	}
	return ratelimit.Lease{Granted: got[0], Rest: got[1], Day: got[2], Spent: got[3], Incarnation: got[4], Asks: got[5]}, nil
}

// newIncarnation is a number that no other count has. Lua's numbers are exact below 2^53.
func newIncarnation() int64 { return 1 + mrand.Int64N(1<<53-1) }

// Close ends the connections, and every Listen.
func (s *Store) Close() {
	s.stop()
	s.ended.Wait()
	if c := s.client.Load(); c != nil {
		(*c).Close()
	}
}
