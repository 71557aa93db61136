package redisstore

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/meter"
)

// prefix begins every name in Redis.
const prefix = "nodegate:"

// ioTimeout is when a connection that does not answer is given up for a new one.
const ioTimeout = time.Second

// Store is a connection to Redis, for any number of users at once. It comes back by
// itself when it is lost.
type Store struct {
	client rueidis.Client
	take   *rueidis.Lua
	log    *slog.Logger
}

var _ meter.Shared = (*Store)(nil)

// Open connects to a Redis: redis://[user:password@]host:port[/database], rediss://
// over TLS, or unix://[user:password@]/path/to/socket.
//
// Returns BadConfig for an address that can't be read, Busy when nobody answers.
func Open(ctx context.Context, url string, log *slog.Logger) (*Store, error) {
	const op = "redisstore.open"
	options, err := rueidis.ParseURL(url)
	if err != nil { // its text may hold the password
		return nil, &nodegate.Error{Op: op, Code: nodegate.BadConfig,
			Msg: "the address of Redis can't be read: write redis://host:port, rediss://host:port or unix:///path/to/socket"}
	}
	options.Dialer.Timeout = ioTimeout
	options.ConnWriteTimeout = ioTimeout
	options.ForceSingleClient = true
	options.DisableCache = true
	options.DisableRetry = true     // a script that takes credits must not run twice
	options.AlwaysPipelining = true // so that the end of a context ends a wait
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, unreachable(op, err)
	}
	if log == nil {
		log = slog.Default()
	}
	s := &Store{client: client, take: rueidis.NewLuaScript(takeScript), log: log}
	if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil {
		client.Close()
		return nil, unreachable(op, err)
	}
	return s, nil
}

func unreachable(op string, err error) error {
	return &nodegate.Error{Op: op, Code: nodegate.Busy, Msg: "Redis does not answer: check that it runs and that the address and password are right", Err: err}
}

// Take takes credits of one bucket, in one step. See meter.Shared.
//
// Returns Busy when Redis does not answer.
func (s *Store) Take(ctx context.Context, a meter.Ask) (meter.Lease, error) {
	const op = "redisstore.take"
	args := make([]string, 0, 8)
	for _, n := range [...]int64{a.Limit.Rate, a.Limit.Burst, a.Limit.PerDay, a.Need, a.Want, a.Owed, a.Day, a.Spent} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	got, err := s.take.Exec(ctx, s.client, []string{prefix + "limit:" + a.Name}, args).AsIntSlice()
	if err != nil {
		return meter.Lease{}, unreachable(op, err)
	}
	if len(got) != 4 {
		return meter.Lease{}, &nodegate.Error{Op: op, Code: nodegate.Internal, Msg: "Redis answers with something else than a lease"}
	}
	return meter.Lease{Granted: got[0], Rest: got[1], Day: got[2], Spent: got[3]}, nil
}

// Close ends the connections, and every Listen.
func (s *Store) Close() { s.client.Close() }
