package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	startRow   = "start"
	startGoal  = 2 * time.Second
	startBlock = 256    // bytes; a start looks at where blocks stand, not into them
	fillBatch  = 10_000 // blocks in a commit
)

// measureStart starts the service on many blocks: closed in order before, and after
// it was killed.
func measureStart(ctx context.Context, o *options, _ *peer) error {
	if o.blocks == 0 || !o.wants(startRow) {
		return nil
	}
	return inFolder(o, func(dir string) error {
		first, err := startServer(dir) // makes the folder and its key
		if err != nil {
			return err
		}
		t := targetsOf(first)[0]
		if err := first.Close(); err != nil {
			return err
		}
		empty, err := startServer(dir)
		if err != nil {
			return err
		}
		o.out.figure("start on no blocks", "", short(empty.StartTime))
		if err := empty.Close(); err != nil {
			return err
		}
		progress("storing %d blocks to start on", o.blocks)
		if err := fillStore(ctx, filepath.Join(dir, "data"), o.blocks); err != nil {
			return err
		}
		return startTwice(ctx, o, dir, t.auth)
	})
}

func startTwice(ctx context.Context, o *options, dir, auth string) error {
	what := fmt.Sprintf("start on %d blocks", o.blocks)
	p, err := startServer(dir)
	if err != nil {
		return err
	}
	o.out.goal(what, "", short(p.StartTime), startGoal.String(), p.StartTime <= startGoal)
	t := targetsOf(p)[0]
	t.auth = auth // the key was shown at the first start only
	w := workload{units: 1, conns: connections, requests: o.small, one: newSource().addSmall}
	_, err = runAll(ctx, w, t)
	if err := errors.Join(err, p.Kill()); err != nil {
		return err
	}
	if p, err = startServer(dir); err != nil {
		return err
	}
	what = fmt.Sprintf("... and killed after %d adds", o.small)
	o.out.goal(what, "", short(p.StartTime), startGoal.String(), p.StartTime <= startGoal)
	return p.Close()
}

// fillStore puts blocks into the store of a server that is not running.
func fillStore(ctx context.Context, data string, count int) (err error) {
	store, err := server.OpenBlocks(ctx, benchConfig(data), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for from := 0; from < count; from += fillBatch {
		if err := fillSome(ctx, store, from, min(from+fillBatch, count)); err != nil {
			return err
		}
	}
	return nil
}

func fillSome(ctx context.Context, store *blockstore.Store, from, to int) error {
	batch := store.Begin("bench", 0)
	defer batch.Abort() // does nothing after the commit
	body := make([]byte, startBlock)
	for n := from; n < to; n++ {
		binary.LittleEndian.PutUint64(body, uint64(n))
		sum, err := multihash.Sum(body, multihash.SHA2_256, -1)
		if err != nil {
			return err
		}
		if err := batch.Put(ctx, cid.NewCidV1(cid.Raw, sum), body); err != nil {
			return err
		}
	}
	return batch.Commit(ctx)
}
