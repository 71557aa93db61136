package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// pinned is the answer of most commands about pins.
type pinned struct{ Pins []string }

// pinAdd pins what is stored. All arguments are pinned or none; a pin that was there
// stays whatever happens, with its name unless another is given.
func pinAdd(ctx context.Context, c *call) error {
	recursive, _ := c.query.Bool(true, "recursive", "r")
	name, _ := c.query.String("", "name", "n")
	progress := c.query.Flag("progress")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	if len(name) > maxPinName {
		return failed(fmt.Sprintf("pin name is %d bytes (max %d bytes)", len(name), maxPinName))
	}
	report := &pinProgress{call: c, wanted: progress}
	batch, answer := c.begin(), pinned{}
	defer batch.Abort()
	pins := &pinner{call: c, batch: batch, seen: report.seen}
	for _, arg := range c.args {
		if err := argTurn(ctx); err != nil {
			return err
		}
		id, err := c.resolve(ctx, arg)
		if err != nil {
			return err
		}
		p, err := pins.newPin(ctx, id, recursive)
		if err != nil {
			return err
		}
		p.Name = name
		batch.Pin(p)
		report.done()
		answer.Pins = append(answer.Pins, encoder.Encode(id))
	}
	c.place.worked()
	if err := batch.Commit(ctx); err != nil {
		return err
	}
	return report.finish(answer)
}

// maxPinName is Kubo's bound.
const maxPinName = 255

// resolve follows an argument to a CID.
func (c *call) resolve(ctx context.Context, arg string) (cid.Cid, error) {
	r, err := c.gateway.objects.Resolve(ctx, arg)
	if err == nil && len(r.Rest) > 0 {
		err = failed(fmt.Sprintf("%q points inside a block", arg))
	}
	return r.CID, err
}

// reportEvery is how often a client is told how far a pin has come.
const reportEvery = 500 * time.Millisecond

// pinProgress tells a client that asked for it how far its pins have come.
type pinProgress struct {
	call   *call
	wanted bool
	out    *lines
	before unixfs.Walked // of the arguments that are done
	now    unixfs.Walked // of the one in progress
	told   time.Time
}

// seen notes a block; the client hears of it now and then.
func (p *pinProgress) seen(w unixfs.Walked) {
	p.now = w
	if !p.wanted {
		return
	}
	if p.told.IsZero() {
		p.told = time.Now()
	}
	if time.Since(p.told) >= reportEvery {
		p.told = time.Now()
		p.send()
		p.out.flush()
	}
}

func (p *pinProgress) send() {
	if p.out == nil {
		p.out = p.call.answer.stream()
	}
	_ = p.out.send(struct{ Progress, Bytes int64 }{p.before.Blocks + p.now.Blocks, p.before.Bytes + p.now.Bytes})
}

// done ends an argument.
func (p *pinProgress) done() {
	p.before.Blocks += p.now.Blocks
	p.before.Bytes += p.now.Bytes
	p.now = unixfs.Walked{}
}

// finish answers: with a last line of progress where it was asked for.
func (p *pinProgress) finish(answer pinned) error {
	if !p.wanted {
		return p.call.answer.object(answer)
	}
	p.send()
	return p.out.send(answer)
}

// pinner makes new pins, in a batch.
type pinner struct {
	*call
	batch unixfs.Batch
	seen  func(unixfs.Walked) // called as blocks are read
}

// newPin walks the content, so that a pin is never of something that is not whole.
func (p *pinner) newPin(ctx context.Context, id cid.Cid, recursive bool) (nodegate.Pin, error) {
	before, err := p.gateway.cfg.Engine.PinOf(ctx, p.account(), id.String())
	if err != nil && !errors.Is(err, nodegate.NotFound) {
		return before, err
	}
	if err == nil && before.Recursive && !recursive {
		return before, failed(fmt.Sprintf("pin: %s already pinned recursively", id))
	}
	walked, err := p.walk(ctx, id, recursive)
	if e := nodegate.AsError(err); err != nil && e.Code == nodegate.NotFound {
		return before, failed("pin: " + e.Msg)
	} else if err != nil {
		return before, err
	}
	return nodegate.Pin{AccountID: p.account(), CID: id.String(), Recursive: recursive, Size: walked.Charge, Created: time.Now()}, nil
}

// walk goes through what a pin keeps: one block, or all below it. What it read is
// safe from collection while the batch lasts.
func (p *pinner) walk(ctx context.Context, id cid.Cid, deep bool) (walked unixfs.Walked, err error) {
	if deep {
		// To hand such a pin over to another thread takes as long as the pin. One of many in a
		// request is work like any other.
		if len(p.args) == 1 {
			if walked, ok := unixfs.WalkSmall(ctx, p.batch, id, p.gateway.cfg.Limits); ok {
				p.seen(walked)
				return walked, nil
			}
		}
		err = p.place.inPlace(ctx, func(ctx context.Context) (err error) {
			walked, err = p.gateway.objects.Walk(ctx, p.batch, id, p.gateway.cfg.Limits, p.seen)
			return err
		})
		return walked, err
	}
	data, err := p.batch.Get(ctx, id)
	return unixfs.Walked{Blocks: 1, Bytes: int64(len(data)), Charge: nodegate.BlockCharge(len(data))}, err
}

// pinRemove takes pins off, all arguments or none.
func pinRemove(ctx context.Context, c *call) error {
	recursive, _ := c.query.Bool(true, "recursive", "r")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	batch, answer := c.begin(), pinned{}
	defer batch.Abort()
	for _, arg := range c.args {
		if err := argTurn(ctx); err != nil {
			return err
		}
		id, err := c.resolve(ctx, arg)
		if err != nil {
			return err
		}
		name := id.String()
		p, err := c.gateway.cfg.Engine.PinOf(ctx, c.account(), name)
		switch {
		case errors.Is(err, nodegate.NotFound):
			return failed(notPinned)
		case err != nil:
			return err
		case p.Recursive && !recursive:
			return failed(name + " is pinned recursively")
		}
		batch.Unpin(name)
		answer.Pins = append(answer.Pins, encoder.Encode(id))
	}
	if err := batch.Commit(ctx); errors.Is(err, nodegate.NotFound) { // named twice, or removed meanwhile
		return failed(notPinned)
	} else if err != nil {
		return err
	}
	return c.answer.object(answer)
}

// notPinned is what Kubo says of a CID that an account has no pin of.
const notPinned = "not pinned or pinned indirectly"

// pinUpdate moves a recursive pin from one root to another.
func pinUpdate(ctx context.Context, c *call) error {
	unpin, _ := c.query.Bool(true, "unpin")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	from, err := c.resolve(ctx, c.args[0])
	if err != nil {
		return err
	}
	to, err := c.resolve(ctx, c.args[1])
	if err != nil {
		return err
	}
	old, err := c.gateway.cfg.Engine.PinOf(ctx, c.account(), from.String())
	if err != nil || !old.Recursive {
		if err != nil && !errors.Is(err, nodegate.NotFound) {
			return err
		}
		return failed("'from' cid was not recursively pinned already")
	}
	batch := c.begin()
	defer batch.Abort()
	pins := &pinner{call: c, batch: batch, seen: func(unixfs.Walked) {}}
	p, err := pins.newPin(ctx, to, true)
	if err != nil {
		return err
	}
	p.Name = old.Name
	batch.Pin(p)
	if unpin && !from.Equals(to) {
		batch.Unpin(from.String())
	}
	c.place.worked()
	if err := batch.Commit(ctx); err != nil {
		return err
	}
	return c.answer.object(pinned{Pins: []string{encoder.Encode(from), encoder.Encode(to)}})
}
