package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Inspection is what an operator wants to know of a Redis.
type Inspection struct {
	Version   string        // "" where this user may not run INFO
	MaxMemory int64         // 0 is no limit
	Policy    string        // which keys it evicts when it is full
	Timed     bool          // the next two are known
	Ahead     time.Duration // of its clock, compared with ours
	Took      time.Duration // to ask for that
}

// Inspect asks a Redis about itself, and changes nothing.
//
// Returns BadConfig for a Redis that refuses us, and Busy for one that does not answer.
func Inspect(ctx context.Context, url string) (*Inspection, error) {
	const op = "redisstore.inspect"
	options, err := optionsOf(url)
	if err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(options)
	if err == nil {
		defer client.Close()
		err = usable(ctx, client)
	}
	if refused := refusal(err); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, unreachable(op, err)
	}
	i := &Inspection{}
	began := time.Now()
	if now, err := client.Do(ctx, client.B().Time().Build()).AsIntSlice(); err == nil && len(now) == 2 {
		i.Timed, i.Took = true, time.Since(began)
		i.Ahead = time.Unix(now[0], now[1]*int64(time.Microsecond)).Sub(began.Add(i.Took / 2))
	}
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil { // an ACL may forbid it
		return i, nil
	}
	i.read(text)
	return i, nil
}

// read takes what INFO says: lines of name:value.
func (i *Inspection) read(text string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			i.Version = value
		case "maxmemory":
			i.MaxMemory, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory_policy":
			i.Policy = value
		}
	}
}
