package ledger

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// Shared keeps blocks for the servers of a network: one fetches a block from a node, the
// others take it from here. It is a help and never a need: what is taken is proven as what a
// node says is, and whatever goes wrong costs a call to a node.
type Shared interface {
	// Take returns what was put for a block. Without it, the caller is to fetch the block, or to
	// wait, because another server is about to put it. It never takes long, as nothing here does.
	Take(ctx context.Context, network string, number uint64, hash [32]byte) (value []byte, wait bool)
	// Put keeps a block for the others, or doesn't.
	Put(ctx context.Context, network string, number uint64, hash [32]byte, value []byte)
	// Drop is for a block that the caller was to fetch and did not get.
	Drop(ctx context.Context, network string, hash [32]byte)
}

// The figures of sharing.
const (
	// ShareLease is how long servers wait for the one that fetches a block, before another one
	// of them does.
	ShareLease = 2 * time.Second
	// ShareWait is how long a server waits in all, before it fetches a block whoever else does.
	ShareWait = 3 * time.Second
	// ShareLife is how long a block is there for the others.
	ShareLife = 10 * time.Minute
	// ShareBlocks is how many blocks of a network there are, and ShareBytes the most that one takes.
	ShareBlocks = 128
	ShareBytes  = 4 << 20

	lookForShared = 20 * time.Millisecond
	shareRest     = 30 * time.Second // after waiting for nothing, or a false block
	maxShared     = 64 << 20         // bytes of a block and its receipts in JSON
)

// sharing takes blocks from the other servers of a network, and gives them those that this one
// fetched.
type sharing struct {
	with    Shared // nil: there are no others
	network string
	wait    time.Duration
	hash    func(number uint64) ([32]byte, bool) // as the nodes reported it; nil is never known
	counts  *counts
	log     *slog.Logger

	rest time.Time // until when this server fetches all by itself
}

// fetch gets a block whose hash is known: from another server, or else by get, from a node.
// What get returns may be another block, if the chain forked.
func (s *sharing) fetch(ctx context.Context, f *fetcher, number uint64, hash [32]byte, get func() (*fetched, error)) (*store.Block, error) {
	if b := s.take(ctx, f, number, hash); b != nil {
		return b.Block, nil
	}
	b, err := get()
	if s.with == nil {
		return justBlock(b, err)
	}
	if err != nil || b.Hash != hash || len(b.Receipts) != len(b.Txs) {
		s.with.Drop(context.WithoutCancel(ctx), s.network, hash)
		return justBlock(b, err)
	}
	s.with.Put(ctx, s.network, number, hash, packBlock(b.raw))
	return b.Block, nil
}

func justBlock(b *fetched, err error) (*store.Block, error) {
	if err != nil {
		return nil, err
	}
	return b.Block, nil
}

// take gets a block from another server and proves it. It returns nil if the block has to be
// fetched.
func (s *sharing) take(ctx context.Context, f *fetcher, number uint64, hash [32]byte) *fetched {
	value := s.await(ctx, number, hash)
	if value == nil {
		return nil
	}
	var b *fetched
	err := error(&unproven{"it can't be read"})
	if raw, ok := unpackBlock(value); ok {
		b, err = f.block(ctx, raw, &hash)
	}
	if err == nil && b.Number == number {
		s.counts.taken.Add(1)
		return b
	}
	s.rest = time.Now().Add(shareRest)
	s.log.Warn("a block that another server put into Redis can't be proven: this server fetches all blocks from nodes for a while", "block", number, "pause", shareRest, "err", err)
	return nil
}

// await waits for the server that fetches a block, if there is one. It returns nil if there is
// none, or it takes too long.
func (s *sharing) await(ctx context.Context, number uint64, hash [32]byte) []byte {
	if s.with == nil || time.Now().Before(s.rest) {
		return nil
	}
	for end := time.Now().Add(s.wait); ; {
		value, wait := s.with.Take(ctx, s.network, number, hash)
		if value != nil || !wait || ctx.Err() != nil {
			return value
		}
		if time.Now().After(end) {
			s.rest = time.Now().Add(shareRest)
			return nil
		}
		select {
		case <-time.After(lookForShared):
		case <-ctx.Done():
		}
	}
}

// rawBlock is what a node said about a block.
type rawBlock struct {
	block    []byte
	receipts []byte // nil: they are to be asked for
}

// packBlock makes one value of what a node said.
func packBlock(s rawBlock) []byte {
	if len(s.block)+len(s.receipts) > maxShared {
		return nil
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil
	}
	for _, part := range [][]byte{binary.BigEndian.AppendUint32(nil, uint32(len(s.block))), s.block, s.receipts} {
		if _, err := w.Write(part); err != nil {
			return nil
		}
	}
	if w.Close() != nil {
		return nil
	}
	return out.Bytes()
}

// unpackBlock reads what packBlock made, or what anybody else did.
func unpackBlock(value []byte) (s rawBlock, ok bool) {
	const length = 4
	all, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(value)), maxShared+length+1))
	if err != nil || len(all) < length || len(all) > maxShared+length {
		return s, false
	}
	block := uint64(binary.BigEndian.Uint32(all))
	if all = all[length:]; block > uint64(len(all)) {
		return s, false
	}
	if s.block, ok = jsonrpc.Compact(nil, all[:block]); !ok {
		return s, false
	}
	s.receipts = []byte("null") // a block without transactions has none
	if rest := all[block:]; len(rest) > 0 {
		s.receipts, ok = jsonrpc.Compact(nil, rest)
	}
	return s, ok
}
