package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// changes is the channel of the numbers of the store's change sequence.
const changes = prefix + "changes"

// listenAgain is the pause before a lost subscription is renewed.
const listenAgain = 250 * time.Millisecond

// Publish tells all servers that the change sequence has come to a number.
//
// Returns Busy when Redis does not answer; they find the change by polling then.
func (s *Store) Publish(ctx context.Context, change int64) error {
	client, err := s.connected("redisstore.publish")
	if err != nil {
		return err
	}
	err = client.Do(ctx, client.B().Publish().Channel(changes).Message(strconv.FormatInt(change, 10)).Build()).Error()
	if err != nil {
		return unreachable("redisstore.publish", err)
	}
	return nil
}

// Listen calls seen with every published number until ctx ends, one after the
// other. Notices are lost while Redis is away: seen must be able to do without.
func (s *Store) Listen(ctx context.Context, seen func(change int64)) {
	quiet := false
	for ctx.Err() == nil {
		client, err := s.connected("redisstore.listen")
		if err == nil {
			err = client.Receive(ctx, client.B().Subscribe().Channel(changes).Build(), func(m rueidis.PubSubMessage) {
				quiet = false
				if change, err := strconv.ParseInt(m.Message, 10, 64); err == nil {
					seen(change)
				}
			})
		}
		if ctx.Err() != nil {
			return
		}
		if !quiet { // once for each loss
			s.log.Warn("change notifications interrupted: polling for changes until Redis answers", "err", err)
			quiet = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}
