package main

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"syscall"

	"github.com/nodegate/nodegate/bench/load"
	"github.com/nodegate/nodegate/internal/server"
)

// filesOfUpload is how many files one request adds while the store is filled.
const filesOfUpload = 2000

// measureBlocks measures the storage gateway with so many files of one block, each of them
// added and pinned over HTTP.
func measureBlocks(ctx context.Context, o *options, size int) (list []figure, err error) {
	err = inFolder(o, func(dir string) error {
		s := serving{data: filepath.Join(dir, "data"), flush: usualFlush}
		f, err := fillStore(ctx, s, func(c *server.Control, f *filled) error { return f.addKey(ctx, c, f.operator) })
		if err != nil {
			return err
		}
		var cids []string
		err = s.with(func(p *started) (err error) {
			cids, err = fillBlocks(ctx, newUploader(p, f), size)
			return err
		})
		if err != nil {
			return err
		}
		disk, err := diskUsage(filepath.Join(s.data, "storage"))
		if err != nil {
			return err
		}
		list, err = inOrder(ctx, []func() ([]figure, error){s.startFigures, func() ([]figure, error) { return blockFigures(s, f, cids, o) }})
		list = append(list, figure{"disk", inBytes, float64(disk)})
		return err
	})
	return list, err
}

func fillBlocks(ctx context.Context, u *uploader, size int) (cids []string, err error) {
	for len(cids) < size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		added, err := u.add(min(filesOfUpload, size-len(cids)))
		if err != nil {
			return nil, err
		}
		cids = append(cids, added...)
	}
	return cids, nil
}

// blockFigures reads random blocks, then adds new ones.
func blockFigures(s serving, f *filled, cids []string, o *options) (list []figure, err error) {
	err = s.with(func(p *started) error {
		u := newUploader(p, f)
		get, err := drive(p, o.lasts, func() error { return u.get(cids[rand.IntN(len(cids))]) })
		if err != nil {
			return err
		}
		add, err := drive(p, o.lasts, func() error {
			_, err := u.add(1)
			return err
		})
		list = append(timesOf("block/get", get), timesOf("add", add)...)
		return err
	})
	return list, err
}

func timesOf(name string, r *load.Result) []figure {
	return []figure{{"p50 of " + name, inSeconds, r.Latency.Quantile(0.5).Seconds()}, {"CPU of " + name, inSeconds, cpuOfEach(r)}}
}

// diskUsage is what the files below a folder take on the disk.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			total += stat.Blocks * 512
		}
		return nil
	})
	return total, err
}
