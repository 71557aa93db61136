package unixfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/spaolacci/murmur3"

	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
)

// hashMurmur3 is the hash function of sharded directories, by its multihash code.
const hashMurmur3 = 0x22

// shardBits is how many bits of a name's hash choose a link in a shard: the fanout
// is 2 to that power.
func shardBits(u *unixfs) (bits, digits int, err error) {
	if u.hashType != hashMurmur3 {
		return 0, 0, failed("only murmur3 supported as hash function")
	}
	for bits = 3; bits <= 10; bits++ {
		if u.fanout == 1<<bits {
			return bits, len(fmt.Sprintf("%X", u.fanout-1)), nil
		}
	}
	return 0, 0, failed("hamt size should be a power of two between 8 and 1024, not %d", u.fanout)
}

// fs parses a node as UnixFS.
func (n *node) fs() (*unixfs, error) { return decodeUnixFS(n.data) }

// node fetches and parses a block.
func (g getter) node(ctx context.Context, l link) (*node, error) {
	raw, err := g(ctx, l.cid)
	if err != nil {
		return nil, err
	}
	return decodeInTurn(ctx, l.cid, raw)
}

// decodeInTurn is decodeNode, which takes a while for a large node, when it is the
// request's turn.
func decodeInTurn(ctx context.Context, c cid.Cid, raw []byte) (n *node, err error) {
	if turnErr := fairshare.Do(ctx, func() { n, err = decodeNode(c, raw) }); turnErr != nil {
		return nil, cancelled(turnErr)
	}
	return n, err
}

// findInShard looks a name up in a sharded directory.
func (g getter) findInShard(ctx context.Context, n *node, u *unixfs, name string) (link, bool, error) {
	hash := murmur3.Sum64([]byte(name))
	for used := 0; ; {
		bits, digits, err := shardBits(u)
		if err != nil {
			return link{}, false, err
		}
		if used += bits; used > 64 {
			return link{}, false, failed("sharded directory too deep")
		}
		index := hash >> (64 - used) & (1<<bits - 1)
		l, ok := withPrefix(n.links, fmt.Sprintf("%0*X", digits, index))
		if !ok {
			return link{}, false, nil
		}
		if len(l.name) > digits {
			return l, l.name[digits:] == name, nil
		}
		if n, err = g.node(ctx, l); err != nil {
			return link{}, false, err
		}
		if u, err = n.fs(); err != nil {
			return link{}, false, err
		}
	}
}

func withPrefix(links []link, prefix string) (link, bool) {
	for _, l := range links {
		if strings.HasPrefix(l.name, prefix) {
			return l, true
		}
	}
	return link{}, false
}

// entries lists a directory, sharded or not, in the order of its blocks.
func (g getter) entries(ctx context.Context, n *node, u *unixfs) ([]link, error) {
	list, more, err := g.someEntries(ctx, n, u, maxEntries)
	if more {
		return nil, tooLarge("too many entries in a directory: at most %d", maxEntries)
	}
	return list, err
}

// someEntries lists a directory up to a number of entries, and tells whether there
// are more. What a listing takes is reserved until it returns: see holdLinks.
func (g getter) someEntries(ctx context.Context, n *node, u *unixfs, most int) (list []link, more bool, err error) {
	if u.kind != kindShard {
		return n.links[:min(len(n.links), most)], len(n.links) > most, nil
	}
	s := &shards{get: g, most: most, seen: map[blockKey]struct{}{}, hold: budget.From(ctx)}
	defer func() { s.hold.Shrink(s.held) }()
	if err = s.add(ctx, n, u, 0); errors.Is(err, errMore) {
		return s.list, true, nil
	}
	return s.list, false, err
}

// errMore ends a listing that has enough.
var errMore = errors.New("objects: more entries")

// shards is a listing of a sharded directory.
type shards struct {
	get  getter
	most int // entries
	list []link
	seen map[blockKey]struct{} // shards in shards
	hold *budget.Hold          // of the request
	held int64                 // of it
}

// add appends what is in a shard. A shard in a shard has a name of only digits; below
// the hash's 64 bits there can be none.
func (s *shards) add(ctx context.Context, n *node, u *unixfs, used int) error {
	bits, digits, err := shardBits(u)
	if err != nil {
		return err
	}
	if used += bits; used > 64 {
		return failed("sharded directory too deep")
	}
	cost := linksCost(n.links) + blockCost
	if err := reserve(s.hold, cost, listLess); err != nil {
		return err
	}
	s.held += cost
	for _, l := range n.links {
		switch {
		case len(l.name) < digits:
			return failed("invalid link name '%s'", l.name)
		case len(l.name) > digits:
			if len(s.list) >= s.most {
				return errMore
			}
			l.name = l.name[digits:]
			s.list = append(s.list, l)
			continue
		}
		if err := s.inner(ctx, l, used); err != nil {
			return err
		}
	}
	return nil
}

// inner goes into a shard of a shard. The names in it have one place by their hash, so
// none is there twice: 256 links to one shard, eight times, would be a directory
// without an end in a few blocks.
func (s *shards) inner(ctx context.Context, l link, used int) error {
	k := keyOf(l.cid)
	if _, again := s.seen[k]; again {
		return failed("malformed sharded directory: the shard %s is linked twice", l.cid)
	}
	s.seen[k] = struct{}{}
	n, err := s.get.node(ctx, l)
	if err != nil {
		return err
	}
	of, err := n.fs()
	if err != nil {
		return err
	}
	if of.kind != kindShard {
		return failed("node was not a dir shard")
	}
	return s.add(ctx, n, of, used)
}
