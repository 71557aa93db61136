package gateway

import (
	"compress/gzip"
	"context"
	"io"
	"strconv"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// get sends a file or a tree as a tar, which may be compressed; a file alone is
// compressed without one.
func get(ctx context.Context, c *call) error {
	archive, compress := c.query.Flag("archive", "a"), c.query.Flag("compress", "C")
	level, given := c.query.Int(gzip.DefaultCompression, "compression-level")
	if err := c.query.Err(); err != nil {
		return err
	}
	if compress && given && (level < gzip.BestSpeed || level > gzip.BestCompression) {
		return failed("compression level must be between 1 and 9")
	}
	tree, err := c.gateway.objects.Get(ctx, c.args[0])
	if err != nil {
		return err
	}
	if compress && !archive && !tree.IsFile() {
		return failed("file is not regular")
	}
	most := c.gateway.maxCompress()
	if compress && tree.Size() > most {
		return errCompress(most)
	}
	kind, write := "application/x-tar", func(w io.Writer) error { return tree.WriteTar(ctx, w, archive) }
	if compress {
		kind, write = "application/gzip", func(w io.Writer) error { return (&compressor{most: most}).writeGzip(ctx, w, tree, archive, level) }
	}
	h := c.answer.head(kind)
	h.Set("X-Stream-Output", "1")
	h.Set("X-Content-Length", strconv.FormatInt(tree.Size(), 10))
	return keptBack(c.answer, write)
}

// lsObject is a directory in the answer of ls.
type lsObject struct {
	Hash  string
	Links []unixfs.Entry
}

// lsAnswer is a line of the stream of ls. The whole answer has this form too.
type lsAnswer struct{ Objects []lsObject }

// list shows the entries of directories.
func list(ctx context.Context, c *call) error {
	look, _ := c.query.Bool(true, "resolve-type")
	if size, given := c.query.Bool(true, "size"); given {
		look = look && size
	}
	stream := c.query.Flag("stream", "s")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	lister := c.gateway.objects.Lister(look, encoder)
	if stream {
		return c.streamList(ctx, lister)
	}
	return sendFolders(ctx, c, lister)
}

// sendFolders answers all directories as one object.
func sendFolders(ctx context.Context, c *call, lister *unixfs.Lister) error {
	body := gather(c)
	if err := body.text(`{"Objects":[`); err != nil {
		return err
	}
	for i, arg := range c.args {
		if err := body.folder(ctx, lister, i, arg); err != nil {
			return err
		}
	}
	if err := body.text("]}"); err != nil {
		return err
	}
	return body.send(c.answer)
}

// folder appends the i-th directory, as an lsObject.
func (g *gathered) folder(ctx context.Context, lister *unixfs.Lister, i int, arg string) error {
	name, err := encodeInTurn(ctx, arg)
	if err != nil {
		return err
	}
	before := `{"Hash":` + string(name) + `,"Links":[`
	if i > 0 {
		before = "," + before
	}
	err = lister.Ls(ctx, arg, func(e unixfs.Entry) error {
		if err := g.text(before); err != nil {
			return err
		}
		before = ","
		return g.value(ctx, e)
	})
	if err != nil {
		return err
	}
	if before != "," { // it has no entries
		if err := g.text(before); err != nil {
			return err
		}
	}
	return g.text("]}")
}

// streamList sends a line for each entry as it is found. The first lines are kept back, so
// that what is wrong with a short list is told.
func (c *call) streamList(ctx context.Context, lister *unixfs.Lister) error {
	c.answer.stream()
	return keptBack(c.answer, func(out io.Writer) error {
		for _, arg := range c.args {
			err := lister.Ls(ctx, arg, func(e unixfs.Entry) error {
				line, err := encodeInTurn(ctx, lsAnswer{[]lsObject{{arg, []unixfs.Entry{e}}}})
				if err == nil {
					_, err = out.Write(append(line, '\n'))
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// blockGet sends one block.
func blockGet(ctx context.Context, c *call) error {
	_, data, err := c.gateway.objects.BlockGet(ctx, c.args[0])
	if err != nil {
		return err
	}
	c.answer.bytes("application/vnd.ipld.raw", int64(len(data)))
	c.answer.Header().Del("X-Content-Length") // Kubo's only cat and get have it
	_, err = c.answer.Write(data)
	return err
}

// blockInfo is a block in an answer.
type blockInfo struct {
	Key  string
	Size int
}

// blockStat tells a block's size.
func blockStat(ctx context.Context, c *call) error {
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	id, data, err := c.gateway.objects.BlockGet(ctx, c.args[0])
	if err != nil {
		return err
	}
	return c.answer.object(blockInfo{Key: encoder.Encode(id), Size: len(data)})
}

// blockPut stores blocks as they are.
func blockPut(ctx context.Context, c *call) error {
	opts, err := unixfs.ParseBlockPut(c.query, c.gateway.cfg.Limits)
	if err != nil {
		return err
	}
	encoder := unixfs.ParseEncoder(c.query)
	return c.put(ctx, opts, c.gateway.objects.BlockPut, func(p unixfs.Put) any {
		return blockInfo{Key: encoder.Encode(p.CID), Size: p.Size}
	})
}

// putter is BlockPut or DagPut.
type putter func(ctx context.Context, batch unixfs.Batch, body io.Reader, boundary string, opts *unixfs.PutOptions) ([]unixfs.Put, error)

// put stores what a body holds and answers a line for each part of it.
func (c *call) put(ctx context.Context, opts *unixfs.PutOptions, put putter, line func(unixfs.Put) any) error {
	if err := c.query.Err(); err != nil {
		return err
	}
	body, boundary, err := c.multipart()
	if err != nil {
		return err
	}
	batch := c.begin()
	defer batch.Abort()
	list, err := put(ctx, batch, body, boundary, opts)
	if err != nil {
		return err
	}
	if err := c.endBody(); err != nil {
		return err
	}
	if err := batch.Commit(ctx); err != nil {
		return err
	}
	out := c.answer.stream()
	for _, p := range list {
		if err := out.send(line(p)); err != nil {
			return err
		}
	}
	return nil
}
