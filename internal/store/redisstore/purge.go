package redisstore

import (
	"bytes"
	"context"

	"github.com/redis/rueidis"
)

// purgeBatch is about how many names are looked at with one command.
const purgeBatch = 512

// PurgeAnswers removes the answers of a network that servers share, or of all networks with
// "", and returns how many there were. Heads and limits stay.
//
// Returns Busy when Redis does not answer.
func (s *Store) PurgeAnswers(ctx context.Context, network string) (removed int64, err error) {
	const op = "redisstore.purge"
	client, err := s.connected(op)
	if err != nil {
		return 0, err
	}
	for cursor := uint64(0); ; {
		found, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(prefix+"answer:*").Count(purgeBatch).Build()).AsScanEntry()
		if err != nil {
			return removed, unreachable(op, err)
		}
		n, err := purge(ctx, client, found.Elements, network)
		if removed += n; err != nil {
			return removed, unreachable(op, err)
		}
		if cursor = found.Cursor; cursor == 0 {
			return removed, nil
		}
	}
}

// purge removes those of some answers that are a network's.
func purge(ctx context.Context, client rueidis.Client, names []string, network string) (int64, error) {
	if network != "" {
		var err error
		if names, err = namesOf(ctx, client, names, network); err != nil {
			return 0, err
		}
	}
	if len(names) == 0 {
		return 0, nil
	}
	return client.Do(ctx, client.B().Unlink().Key(names...).Build()).AsInt64()
}

// namesOf are the names whose values say that they are of a network: the key of an answer
// begins with it. What is not a value of ours is left alone.
func namesOf(ctx context.Context, client rueidis.Client, names []string, network string) (own []string, err error) {
	want := []byte(network + " ")
	start := len(mark) + 4
	reads := make(rueidis.Commands, len(names))
	for i, name := range names {
		reads[i] = client.B().Getrange().Key(name).Start(0).End(int64(start + len(want) - 1)).Build()
	}
	for i, r := range client.DoMulti(ctx, reads...) {
		value, err := r.AsBytes()
		if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
			return nil, err
		}
		if err == nil && bytes.HasPrefix(value, []byte(mark)) && len(value) >= start && bytes.Equal(value[start:], want) {
			own = append(own, names[i])
		}
	}
	return own, nil
}
