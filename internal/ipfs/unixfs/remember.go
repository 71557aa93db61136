package unixfs

import (
	"context"

	"github.com/ipfs/go-cid"
)

// What is remembered of a walk: so many blocks of at most so many bytes.
const (
	rememberedBlocks = 16
	rememberedBytes  = 8 << 10
)

// remembered is what was made of the blocks that a walk met last. A directory that stands for
// very much has the same few again and again.
type remembered[T any] struct {
	kept [rememberedBlocks]struct {
		cid cid.Cid
		of  T
	}
	next int
}

func (r *remembered[T]) find(c cid.Cid) (of T, ok bool) {
	for i := range r.kept {
		if r.kept[i].cid == c {
			return r.kept[i].of, true
		}
	}
	return of, false
}

func (r *remembered[T]) keep(c cid.Cid, of T) {
	r.kept[r.next].cid, r.kept[r.next].of = c, of
	r.next = (r.next + 1) % rememberedBlocks
}

// remembering keeps the small blocks that were read last: to read one from the disk leaves more
// garbage behind than anything else that a listing does.
func remembering(get getter) getter {
	var lately remembered[[]byte]
	return func(ctx context.Context, c cid.Cid) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, cancelled(err)
		}
		if data, ok := lately.find(c); ok {
			return data, nil
		}
		data, err := get(ctx, c)
		if err == nil && len(data) <= rememberedBytes {
			lately.keep(c, data)
		}
		return data, err
	}
}
