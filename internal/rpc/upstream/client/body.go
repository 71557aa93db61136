package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// incoming is an answer as it arrives. The buffer grows with what has come, to twice
// of it at most, and never because of what a header promises.
type incoming struct {
	src   io.Reader
	buf   []byte // what was read; the contents of chunks move together at the front
	head  head
	body  []byte // a part of buf
	clean bool   // no byte came after the answer
}

const firstBuffer = 8 << 10

// read reads one answer whose body has at most limit bytes.
func (in *incoming) read(limit int64) error {
	at := 0
	for interim := 0; ; interim++ {
		end, err := in.wholeHead(at)
		if err != nil {
			return err
		}
		if in.head, err = parseHead(in.buf[at:end]); err != nil {
			return err
		}
		at = end
		if in.head.status >= http.StatusOK {
			break
		}
		if interim == maxInterim || in.head.status == http.StatusSwitchingProtocols {
			return manyInterim
		}
	}
	switch {
	case in.head.chunked:
		return in.chunks(at, limit)
	case in.head.length == toClose:
		return in.toClose(at, limit)
	}
	return in.sized(at, limit)
}

// wholeHead reads until the head that begins at buf[at] is there, and returns where
// it ends.
func (in *incoming) wholeHead(at int) (end int, err error) {
	looked := at
	for {
		from := max(at, looked-len(headEnd)+1)
		if i := bytes.Index(in.buf[from:], headEnd); i >= 0 && from+i-at <= maxHead {
			return from + i + len(headEnd), nil
		}
		begun := in.buf[at:]
		switch n := min(len(begun), len(protoName)); {
		case len(begun) > maxHead:
			return 0, hugeHead
		case !bytes.Equal(begun[:n], protoName[:n]):
			return 0, notHTTP
		case bytes.Contains(in.buf[from:], []byte("\n\n")):
			return 0, badHead // bare line feeds: what we wait for would never come
		}
		looked = len(in.buf)
		if err := in.fill(0); err != nil {
			return 0, err
		}
	}
}

// fill reads once. When the buffer is full it doubles, to no more than want if that
// is known.
func (in *incoming) fill(want int) error {
	if len(in.buf) == cap(in.buf) {
		size := max(2*cap(in.buf), firstBuffer)
		if want > len(in.buf) {
			size = min(size, want)
		}
		in.buf = append(make([]byte, 0, size), in.buf...)
	}
	n, err := in.src.Read(in.buf[len(in.buf):cap(in.buf)])
	in.buf = in.buf[:len(in.buf)+n]
	switch {
	case n > 0:
		return nil
	case errors.Is(err, io.EOF) && len(in.buf) == 0:
		return hungUp
	case errors.Is(err, io.EOF) || err == nil: // a reader without progress has ended too
		return cutShort
	}
	return err
}

func (in *incoming) sized(at int, limit int64) error {
	if in.head.length > limit {
		return ErrTooLarge
	}
	end := at + int(in.head.length)
	for len(in.buf) < end {
		if err := in.fill(end); err != nil {
			return err
		}
	}
	in.body, in.clean = in.buf[at:end], len(in.buf) == end
	return nil
}

// toClose reads a body that ends with the connection, so that nobody can tell a whole
// one from one that was cut. Its JSON does.
func (in *incoming) toClose(at int, limit int64) error {
	for {
		if int64(len(in.buf)-at) > limit {
			return ErrTooLarge
		}
		err := in.fill(0)
		if err == cutShort {
			in.body = in.buf[at:]
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Bounds of what stands between the contents of chunks.
const (
	maxChunkLine = 256
	maxChunkWork = 8 << 10 // that is not made up for by contents
)

// chunks reads a body in chunks. Trailers are refused: nothing asks for them.
func (in *incoming) chunks(at int, limit int64) error {
	c := chunker{in: in, pos: at, out: at}
	for {
		size, err := c.size()
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if int64(c.out-at)+size > limit {
			return ErrTooLarge
		}
		if err := c.content(int(size)); err != nil {
			return err
		}
	}
	if err := c.end(); err != nil {
		return err
	}
	in.body, in.clean = in.buf[at:c.out], c.pos == len(in.buf)
	return nil
}

// chunker moves the contents of chunks together, in place.
type chunker struct {
	in     *incoming
	pos    int // what comes next
	out    int // where the contents so far end
	excess int // bytes of lines that the contents don't make up for
}

// more makes room for what was not read yet and reads once.
func (c *chunker) more() error {
	in := c.in
	n := copy(in.buf[c.out:], in.buf[c.pos:])
	in.buf, c.pos = in.buf[:c.out+n], c.out
	return in.fill(0)
}

// size reads the line that begins a chunk.
func (c *chunker) size() (int64, error) {
	for {
		if i := bytes.Index(c.in.buf[c.pos:], lineEnd); i >= 0 && i <= maxChunkLine {
			line := c.in.buf[c.pos : c.pos+i]
			c.pos += i + len(lineEnd)
			return c.parse(line)
		}
		if len(c.in.buf)-c.pos > maxChunkLine {
			return 0, badChunk
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
}

// parse reads "1f" or "1f;name=value".
func (c *chunker) parse(line []byte) (size int64, err error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	if !isValue(line) || len(digits) == 0 || len(digits) > 8 {
		return 0, badChunk
	}
	for _, d := range digits {
		switch {
		case '0' <= d && d <= '9':
			d -= '0'
		case 'a' <= d|0x20 && d|0x20 <= 'f':
			d = (d | 0x20) - 'a' + 10
		default:
			return 0, badChunk
		}
		size = size<<4 | int64(d)
	}
	c.excess = max(0, c.excess+len(line)-16-int(2*size))
	if c.excess > maxChunkWork {
		return 0, badChunk
	}
	return size, nil
}

// content takes size bytes and the line end after them.
func (c *chunker) content(size int) error {
	for size > 0 {
		n := copy(c.in.buf[c.out:], c.in.buf[c.pos:min(c.pos+size, len(c.in.buf))])
		c.out, c.pos, size = c.out+n, c.pos+n, size-n
		if size == 0 {
			break
		}
		if err := c.more(); err != nil {
			return err
		}
	}
	return c.end()
}

// end takes one line end.
func (c *chunker) end() error {
	for len(c.in.buf)-c.pos < len(lineEnd) {
		if err := c.more(); err != nil {
			return err
		}
	}
	if !bytes.HasPrefix(c.in.buf[c.pos:], lineEnd) {
		return badChunk
	}
	c.pos += len(lineEnd)
	return nil
}
