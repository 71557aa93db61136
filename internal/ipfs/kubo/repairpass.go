package kubo

import (
	"context"
	"errors"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

const (
	heldPage = 100
	// repairAccount has the claims of repairs. No account has this id, and it pays nothing.
	repairAccount = "storage.repair"
)

// pass is one way through all content. One piece is looked at after the other, with a
// pause, so that clients notice nothing of it.
type pass struct {
	*Repair
	report  RepairReport
	renewed time.Time // the lease
	example string    // of what is missing
	cause   error     // of the first failure
}

func (p *pass) run(ctx context.Context) error {
	for after := ""; ; {
		if err := p.renew(ctx); err != nil {
			return err
		}
		list, err := p.e.cfg.Pins.HeldContent(ctx, after, heldPage)
		if err != nil {
			return err
		}
		for _, content := range list {
			if err := p.check(ctx, content); err != nil {
				return err
			}
			after = content
		}
		if len(list) < heldPage {
			return nil
		}
	}
}

// renew keeps other servers from beginning a pass.
func (p *pass) renew(ctx context.Context) error {
	if time.Since(p.renewed) < renewEvery {
		return nil
	}
	mine, err := p.lease(ctx, leaseTime)
	p.renewed = time.Now()
	if err == nil && !mine {
		return &nodegate.Error{Op: "kubo.repair", Code: nodegate.Conflict, Msg: "another server repairs the copies of stored content now"}
	}
	return err
}

// check looks at one piece of content, and makes the copies that it lacks. Its error is
// one that ends the pass.
func (p *pass) check(ctx context.Context, content string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.e.cfg.limits.pause):
	}
	p.report.Checked++
	s := p.survey(ctx, content)
	if s.want <= 0 || len(s.lack) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := p.renew(ctx); err != nil {
		return err
	}
	if err := p.mend(ctx, content, s); ctx.Err() == nil {
		p.note(content, err)
	}
	return ctx.Err()
}

// gone tells whether no node has all of some content. What is damaged on every node
// is as good as missing.
func gone(err error) bool {
	return errors.Is(err, nodegate.NotFound) || errors.Is(err, nodegate.Damaged)
}

// note counts how the repair of a piece of content ended.
func (p *pass) note(content string, err error) {
	switch {
	case err == nil:
	case gone(err):
		if p.report.Missing++; p.example == "" {
			p.example = content
		}
	default:
		p.failed.Add(1)
		if p.report.Failed++; p.cause == nil {
			p.cause = err
		}
	}
}

// survey is where a piece of content is.
type survey struct {
	have, lack []*node
	want       int // copies to make
}

// survey asks the nodes until enough of them have the content pinned. A node that does
// not answer is taken to have it, until it has been away for a whole interval: a short
// absence must not copy everything that it has.
func (p *pass) survey(ctx context.Context, content string) survey {
	s := survey{want: p.e.cfg.Copies}
	for _, n := range p.e.nodes {
		if s.want == 0 {
			break
		}
		if away := n.health.awayFor(p.e.cfg.now()); away >= p.every && away > 0 {
			continue
		} else if away > 0 {
			s.want--
			continue
		}
		switch pinned, err := n.pinned(ctx, content); {
		case err != nil:
			s.want--
		case pinned:
			s.have = append(s.have, n)
			s.want--
		default:
			s.lack = append(s.lack, n)
		}
	}
	return s
}

// mend copies content to nodes that lack it. Content that no node has is found before
// anything is written.
func (p *pass) mend(ctx context.Context, content string, s survey) error {
	root, err := cid.Decode(content)
	if err != nil {
		return err
	}
	if _, _, err := p.e.find(ctx, root, s.have, false); err != nil {
		return err
	}
	return p.claimed(ctx, content, func(ctx context.Context) error { return p.copyTo(ctx, content, root, s) })
}

// claimed does something while content is claimed, so that no collection removes it
// meanwhile. The end of the claim has the next collection look whether somebody still
// needs the content, and unpin it otherwise.
func (p *pass) claimed(ctx context.Context, content string, do func(context.Context) error) error {
	c := p.e.newChange(repairAccount)
	c.Ops = []nodegate.PinOp{{Kind: nodegate.PinAdd, Pin: nodegate.Pin{CID: content, Recursive: true}, Content: content}}
	held, err := p.e.cfg.Pins.ClaimPins(ctx, c)
	if errors.Is(err, nodegate.Busy) {
		return nil // it is being removed
	}
	if err != nil {
		return err
	}
	defer p.e.release(c)
	if len(held) == 0 {
		return nil // it was removed
	}
	limited, cancel := context.WithTimeout(ctx, p.e.cfg.limits.pinning)
	defer cancel()
	return do(limited)
}

// copyTo makes as many copies as are wanted. Where one node fails the next is used.
func (p *pass) copyTo(ctx context.Context, content string, root cid.Cid, s survey) error {
	var causes []error
	for _, n := range s.lack {
		err := p.copyOne(ctx, content, root, n, s.have)
		switch {
		case err == nil:
			p.copied.Add(1)
			p.report.Copied++
			if s.want--; s.want == 0 {
				return nil
			}
		case gone(err) || ctx.Err() != nil:
			return err
		default:
			causes = append(causes, err)
		}
	}
	return errors.Join(causes...)
}

// copyOne brings a node all blocks and pins them. The blocks come first, also where
// the node may have some: Kubo's pin/add looks in the network for what it lacks, and
// can't be kept from it.
func (p *pass) copyOne(ctx context.Context, content string, root cid.Cid, n *node, from []*node) error {
	if err := p.e.carry(ctx, n, root, source{first: from}); err != nil {
		return err
	}
	return n.pinAdd(ctx, []string{content})
}

// log tells the operator of a pass that found something.
func (p *pass) log() {
	log, r := p.e.cfg.Log, p.report
	if r.Copied > 0 {
		log.Info("copied content to storage nodes that lacked it", "copies", r.Copied, "checked", r.Checked)
	}
	if r.Failed > 0 {
		log.Warn("can't copy content to storage nodes: the next repair tries again", "cids", r.Failed, "err", p.cause)
	}
	if r.Missing > 0 {
		log.Error("content is missing or damaged on every storage node: restore a node's backup, or add the content again", "cids", r.Missing, "example", p.example)
	}
}
