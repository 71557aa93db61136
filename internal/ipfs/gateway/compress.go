package gateway

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// maxCompress is how much is compressed for one request. What is sent of it counts for
// the transfer quota, but a core works for what is read.
func (g *Gateway) maxCompress() int64 { return cmp.Or(g.cfg.CompressBytes, defaultCompress) }

func errCompress(most int64) error {
	return &nodegate.Error{Op: "storage", Code: nodegate.TooLarge, Msg: fmt.Sprintf("too much to compress: at most %d bytes (storage.max_compress). Get it without compress", most)}
}

// writeGzip sends a file or an archive compressed.
func (z *compressor) writeGzip(ctx context.Context, w io.Writer, tree *unixfs.Tree, archive bool, level int) (err error) {
	z.ctx, z.out, z.left = ctx, w, z.most+maxArchiveExtra
	if z.gzip, err = gzip.NewWriterLevel(&z.buffer, level); err != nil {
		return err
	}
	if archive {
		err = tree.WriteTar(ctx, z, true)
	} else {
		err = tree.WriteContent(ctx, z)
	}
	if err != nil {
		return err // an end that is missing shows that it is not whole
	}
	return z.close()
}

// maxArchiveExtra is what an archive may have beside the content of its files.
const maxArchiveExtra = 64 << 20

// compressor compresses when it is the request's turn on a core, and sends between
// turns: a client that reads slowly holds nobody up.
type compressor struct {
	ctx    context.Context
	gzip   *gzip.Writer
	buffer bytes.Buffer
	out    io.Writer
	most   int64 // bytes of content
	left   int64
}

// compressPiece is compressed in one turn: about a millisecond's work.
const compressPiece = 64 << 10

func (z *compressor) Write(b []byte) (n int, err error) {
	if z.left -= int64(len(b)); z.left < 0 {
		return 0, errCompress(z.most)
	}
	for n < len(b) && err == nil {
		piece := b[n:min(len(b), n+compressPiece)]
		err = z.turn(func() error {
			_, err := z.gzip.Write(piece)
			return err
		})
		n += len(piece)
	}
	return n, err
}

func (z *compressor) close() error { return z.turn(z.gzip.Close) }

// turn does a piece of work and sends what it made.
func (z *compressor) turn(work func() error) error {
	var err error
	if turnErr := fairshare.Do(z.ctx, func() { err = work() }); turnErr != nil {
		return turnErr
	}
	if err == nil && z.buffer.Len() > 0 {
		_, err = z.buffer.WriteTo(z.out)
	}
	return err
}
