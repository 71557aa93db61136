package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// gathered is a JSON answer that is encoded bit by bit and sent once it is whole, so that an
// error can still be told. What it takes is reserved in the request's hold.
type gathered struct {
	hold  *budget.Hold
	parts [][]byte
	size  int64
}

// The parts of such an answer: the first is small, as most answers are.
const (
	firstPart = 4 << 10
	nextPart  = 64 << 10
)

func gather(c *call) *gathered { return &gathered{hold: &c.hold} }

// text appends text that is JSON already.
func (g *gathered) text(s string) error { return appendTo(g, s) }

// value appends a value, encoded when it is the request's turn.
func (g *gathered) value(ctx context.Context, v any) error {
	data, err := encodeInTurn(ctx, v)
	if err != nil {
		return err
	}
	return appendTo(g, data)
}

// appendTo appends some bytes, in parts that are not copied as they become more.
func appendTo[T string | []byte](g *gathered, data T) error {
	for len(data) > 0 {
		last := len(g.parts) - 1
		if last < 0 || len(g.parts[last]) == cap(g.parts[last]) {
			if err := g.part(); err != nil {
				return err
			}
			last++
		}
		part := g.parts[last]
		n := min(len(data), cap(part)-len(part))
		g.parts[last] = append(part, data[:n]...)
		g.size += int64(n)
		data = data[n:]
	}
	return nil
}

func (g *gathered) part() error {
	size := nextPart
	if len(g.parts) == 0 {
		size = firstPart
	}
	if err := holdAnswer(g.hold, int64(size)); err != nil {
		return err
	}
	g.parts = append(g.parts, make([]byte, 0, size))
	return nil
}

// holdAnswer reserves what an answer takes. More than the account may have at all is refused
// as too large: waiting doesn't help.
func holdAnswer(hold *budget.Hold, size int64) error {
	err := hold.Grow(size)
	if err != nil && !hold.Fits(size) {
		return &nodegate.Error{Op: "storage", Code: nodegate.TooLarge, Msg: "the answer takes more memory than an account may use (memory.requests_per_account): ask for less at once, or for a stream"}
	}
	return err
}

// send answers it as one object.
func (g *gathered) send(a *answer) error {
	a.head("application/json").Set("Content-Length", strconv.FormatInt(g.size+1, 10))
	for _, part := range g.parts {
		if _, err := a.Write(part); err != nil {
			return err
		}
	}
	_, err := a.Write([]byte{'\n'})
	return err
}

// encodeInTurn is json.Marshal when it is the request's turn.
func encodeInTurn(ctx context.Context, v any) (data []byte, err error) {
	if turn := fairshare.Do(ctx, func() { data, err = json.Marshal(v) }); turn != nil || err != nil {
		return nil, errors.Join(turn, err)
	}
	return data, nil
}
