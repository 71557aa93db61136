package operatoralert

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The states of a problem in a message.
const (
	firing   = "firing"
	Resolved = "resolved"
)

// Message is what operators get. Webhooks get it as JSON.
type Message struct {
	Status  string    `json:"status"` // firing or resolved
	Kind    string    `json:"kind"`
	Subject string    `json:"subject,omitempty"`
	Summary string    `json:"summary"`
	Text    string    `json:"text"` // a line for chats
	Server  string    `json:"server"`
	Since   time.Time `json:"since"`
	At      time.Time `json:"at"`
}

// Channel delivers messages to operators.
type Channel struct {
	Name string
	Send func(ctx context.Context, m Message) error
}

// The bounds of each channel's queue, and of the attempts to deliver one message: the pauses
// between them are about 17 minutes together.
const (
	maxWaiting  = 100
	maxAttempts = 10
	sendTime    = 30 * time.Second
	firstPause  = 2 * time.Second
	maxPause    = 10 * time.Minute
)

// outbox delivers messages in order. Channels don't wait for each other.
type outbox struct {
	log      *slog.Logger
	channels []Channel
	queues   []chan Message
}

func newOutbox(channels []Channel, log *slog.Logger) *outbox {
	o := &outbox{log: log, channels: channels}
	for range channels {
		o.queues = append(o.queues, make(chan Message, maxWaiting))
	}
	return o
}

// start delivers until ctx ends.
func (o *outbox) start(ctx context.Context, running *sync.WaitGroup) {
	for i, c := range o.channels {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-o.queues[i]:
					o.deliver(ctx, c, m)
				}
			}
		})
	}
}

// put never waits.
func (o *outbox) put(m Message) {
	for i, c := range o.channels {
		select {
		case o.queues[i] <- m:
		default:
			o.log.Error("operator alert dropped: too many are waiting", "channel", c.Name, "summary", m.Summary)
		}
	}
}

// deliver sends a message, again if that fails.
func (o *outbox) deliver(ctx context.Context, c Channel, m Message) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		limited, cancel := context.WithTimeout(ctx, sendTime)
		err := c.Send(limited, m)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
		if attempt == maxAttempts {
			o.log.Error("can't deliver an operator alert: giving up", "channel", c.Name, "summary", m.Summary, "err", err)
			return
		}
		if attempt == 1 {
			o.log.Warn("can't deliver an operator alert: retrying", "channel", c.Name, "retry_in", pause, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}
