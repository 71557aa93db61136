package account

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
)

const (
	outboxSize = 256 // mails that wait; more are refused
	sendTries  = 3
	sendPause  = 5 * time.Second // before a letter is tried again
)

// outbox does work that ends in a mail, one after the other, behind the back of whoever asked
// for it: neither a slow mail server nor a look into the store shows in an answer.
type outbox struct {
	send func(context.Context, mailer.Letter) error // nil where nothing can be mailed
	url  string                                     // of the dashboard
	log  *slog.Logger

	work chan func(context.Context)
	stop context.CancelFunc
	done sync.WaitGroup
}

func (o *outbox) begin(send func(context.Context, mailer.Letter) error, url string, log *slog.Logger) {
	ctx, stop := context.WithCancel(context.Background())
	o.send, o.url, o.log, o.stop, o.work = send, url, log, stop, make(chan func(context.Context), outboxSize)
	o.done.Go(func() { o.run(ctx) })
}

func (o *outbox) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-o.work:
			do(ctx)
		}
	}
}

// add puts work into the queue. Without a mail server there is nothing to do.
//
// Returns RateLimited when too much waits.
func (o *outbox) add(do func(context.Context)) error {
	if o.send == nil {
		return nil
	}
	select {
	case o.work <- do:
		return nil
	default:
		return &nodegate.Error{Op: "account.mail", Code: nodegate.RateLimited, RetryAfter: time.Minute, Msg: "too many mails are waiting: try again in a minute"}
	}
}

// mail sends a letter, and again after a failure that may pass.
func (o *outbox) mail(ctx context.Context, to, subject, text string) (err error) {
	letter := mailer.Letter{To: to, Subject: subject, Text: text, ID: letterID()}
	for try := 1; ; try++ {
		if err = o.send(ctx, letter); err == nil || errors.Is(err, nodegate.InvalidInput) || try == sendTries {
			return err
		}
		o.log.Warn("can't send a mail; trying again", "retry_in", sendPause, "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(sendPause):
		}
	}
}

// close ends what is being done; what still waits is lost, and can be asked for again.
func (o *outbox) close() {
	if o.stop != nil {
		o.stop()
		o.done.Wait()
	}
}
