package client

import (
	"bytes"
	"compress/gzip"
	"errors"
)

// bombRatio is how many times its own size an answer may inflate to before it counts as
// an attack when it is too large as well. JSON of a node stays far below.
const bombRatio = 100

// inflater reads gzip. It is kept for other answers, because its tables are large.
type inflater struct {
	gzip gzip.Reader
	src  bytes.Reader
}

// inflatable tells whether the answer is in gzip and we asked for that.
func (x *exchange) inflatable() bool { return x.in.head.gzipped && x.client.end.Gzip }

// inflate puts the contents of an inflatable answer in the place of its body.
func (x *exchange) inflate() error {
	c := x.client
	spare := c.buffers.Get().(*[]byte)
	z := c.inflaters.Get().(*inflater)
	plain, err := z.inflate((*spare)[:0], x.in.body, c.end.MaxAnswer)
	c.inflaters.Put(z)
	*spare, x.in.buf, x.in.body = x.in.buf, plain, plain
	c.keep(spare)
	return err
}

// inflate writes the contents of packed over buf, which grows to limit and one byte at
// most.
func (z *inflater) inflate(buf, packed []byte, limit int64) ([]byte, error) {
	z.src.Reset(packed)
	defer z.src.Reset(nil) // packed is another answer's soon
	if err := z.gzip.Reset(&z.src); err != nil {
		return buf, badGzip
	}
	out := incoming{src: &z.gzip, buf: buf}
	for int64(len(out.buf)) <= limit {
		switch err := out.fill(int(limit) + 1); {
		case errors.Is(err, cutShort), errors.Is(err, hungUp): // the end, checksum and all
			return out.buf, nil
		case err != nil:
			return out.buf, badGzip
		}
	}
	if read := len(packed) - z.src.Len(); len(out.buf)/bombRatio > read {
		return out.buf, zipBomb
	}
	return out.buf, ErrTooLarge
}
