package gateway

import (
	"context"
	"math"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// dagStatRoot is one DAG in the answer of dag/stat.
type dagStatRoot struct {
	Cid       string
	Size      uint64 `json:",omitempty"`
	NumBlocks int64  `json:",omitempty"`
}

// dagStatAnswer is the answer of dag/stat, and of its progress.
type dagStatAnswer struct {
	UniqueBlocks int64         `json:",omitempty"`
	TotalSize    uint64        `json:",omitempty"`
	SharedSize   uint64        `json:",omitempty"`
	Ratio        float32       `json:",omitempty"`
	DagStats     []dagStatRoot `json:",omitempty"`
}

// dagStat counts blocks. Kubo reports progress after each block; here twice a second is
// enough.
func dagStat(ctx context.Context, c *call) error {
	progress, _ := c.query.Bool(true, "progress", "p")
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	roots, err := resolveRoots(ctx, c)
	if err != nil {
		return err
	}
	var out *lines
	told := time.Now()
	sum, err := c.gateway.objects.DagStat(ctx, roots, c.gateway.cfg.Limits, func(s *unixfs.DagStat) error {
		if !progress || time.Since(told) < reportEvery {
			return nil
		}
		told, out = time.Now(), begunStream(c, out)
		defer out.flush()
		return out.send(describeDag(s, encoder))
	})
	if err != nil {
		return err
	}
	answer := describeDag(sum, encoder)
	answer.UniqueBlocks = sum.Unique.Blocks
	if answer.SharedSize = uint64(sum.All.Bytes - sum.Unique.Bytes); sum.Unique.Bytes > 0 {
		answer.Ratio = float32(sum.All.Bytes) / float32(sum.Unique.Bytes)
	}
	return begunStream(c, out).send(answer)
}

// begunStream is the stream of an answer, begun where it was not.
func begunStream(c *call, out *lines) *lines {
	if out == nil {
		out = c.answer.stream()
	}
	return out
}

func describeDag(s *unixfs.DagStat, encoder unixfs.Encoder) dagStatAnswer {
	a := dagStatAnswer{TotalSize: uint64(s.Unique.Bytes)}
	for _, r := range s.Roots {
		a.DagStats = append(a.DagStats, dagStatRoot{encoder.Encode(r.CID), uint64(r.Bytes), r.Blocks})
	}
	return a
}

// repoStat tells what the account stores: its own repository, so to say.
func repoStat(ctx context.Context, c *call) error {
	type stat struct {
		RepoSize, StorageMax, NumObjects uint64
		RepoPath, Version                string
	}
	sizeOnly := c.query.Flag("size-only", "s")
	if err := c.query.Err(); err != nil {
		return err
	}
	s := stat{RepoSize: uint64(max(0, c.gateway.cfg.Engine.Stored(c.account()))), StorageMax: math.MaxUint64}
	if quota := c.grant.Policy().Plan.StoredBytes; quota > 0 {
		s.StorageMax = uint64(quota)
	}
	if sizeOnly {
		return c.answer.object(s)
	}
	s.RepoPath, s.Version = "/", "fs-repo@"+kuboRepo
	if err := c.gateway.cfg.Engine.Pins(ctx, c.account(), func(nodegate.Pin) bool { s.NumObjects++; return true }); err != nil {
		return err
	}
	return c.answer.object(s)
}
