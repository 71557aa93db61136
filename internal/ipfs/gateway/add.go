package gateway

import (
	"context"
	"net/http"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// add stores an upload. The lines that name CIDs are sent when the body was read to
// its closing boundary and everything is synced, so a client that has one has the
// content.
func add(ctx context.Context, c *call) error {
	opts, err := unixfs.ParseAdd(c.query, c.gateway.cfg.Limits)
	if err != nil {
		return err
	}
	body, boundary, err := c.multipart()
	if err != nil {
		return err
	}
	// Without it Go's server drops a part of the body at the first line of progress.
	_ = http.NewResponseController(c.w).EnableFullDuplex()
	var out *lines
	progress := func(e unixfs.Event) {
		if opts.Progress && !opts.Silent {
			if out == nil {
				out = c.answer.stream()
			}
			_ = out.send(e)
			out.flush()
		}
	}
	batch := c.begin()
	defer batch.Abort() // does nothing after the commit
	added, err := c.gateway.objects.Add(ctx, batch, body, boundary, opts, progress)
	if err != nil {
		return err
	}
	if err := c.endBody(); err != nil {
		return err
	}
	if !opts.OnlyHash {
		if err := batch.Commit(ctx); err != nil {
			return err
		}
	}
	return sendAdded(c, out, opts, added)
}

func sendAdded(c *call, out *lines, opts *unixfs.Options, added *unixfs.Added) error {
	if out == nil {
		out = c.answer.stream()
	}
	if opts.Silent {
		c.answer.WriteHeader(http.StatusOK)
		return nil
	}
	for _, e := range added.Events {
		if err := out.send(e); err != nil {
			return err
		}
	}
	return nil
}
