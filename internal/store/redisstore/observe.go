package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
)

// Observe is called with each command or script: how long it took, and whether Redis did not
// answer.
type Observe func(took time.Duration, failed bool)

// Observe has the store report its commands from now on.
func (s *Store) Observe(observe Observe) { s.observe.Store(&observe) }

// pingTime bounds a question that is about nothing else than whether Redis answers.
const pingTime = 500 * time.Millisecond

// Reaches tells whether Redis answers now.
func (s *Store) Reaches(ctx context.Context) bool {
	client, err := s.connected("redisstore.ping")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	return client.Do(ctx, client.B().Ping().Build()).Error() == nil
}

// observed is a client that reports what it does. Subscriptions last and are not reported.
type observed struct {
	rueidis.Client
	store *Store
}

// Do does one command.
func (o observed) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	begin := time.Now()
	result := o.Client.Do(ctx, cmd)
	o.report(begin, result.Error())
	return result
}

// DoMulti does several commands at once, which are reported as one.
func (o observed) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	begin := time.Now()
	results := o.Client.DoMulti(ctx, multi...)
	var err error
	for i := range results {
		if e := results[i].Error(); !answered(e) {
			err = e
		}
	}
	o.report(begin, err)
	return results
}

func (o observed) report(begin time.Time, err error) {
	if observe := o.store.observe.Load(); observe != nil {
		(*observe)(time.Since(begin), !answered(err) && !errors.Is(err, context.Canceled))
	}
}

// answered tells whether an error is an answer of Redis, or none at all.
func answered(err error) bool {
	_, refusal := rueidis.IsRedisErr(err)
	return err == nil || refusal || rueidis.IsRedisNil(err)
}
