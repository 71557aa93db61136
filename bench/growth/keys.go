package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/nodegate/nodegate/internal/server"
)

// keysOfAccount is how many keys each account has where keys are counted.
const keysOfAccount = 100

// measureKeys measures a server with many keys of a hundredth as many accounts.
func measureKeys(ctx context.Context, o *options, size int) ([]figure, error) {
	return measureMembers(ctx, o, size, keysOfAccount, nil)
}

// measureAccounts measures a server with many accounts with a key each, and what operators see
// of them.
func measureAccounts(ctx context.Context, o *options, size int) ([]figure, error) {
	return measureMembers(ctx, o, size, 1, func(s serving) ([]figure, error) { return accountPages(s, size) })
}

// measureMembers measures a server with so many keys, of accounts with so many each. pages
// measures what else there is to measure; it may be nil.
func measureMembers(ctx context.Context, o *options, keys, each int, pages func(serving) ([]figure, error)) (list []figure, err error) {
	err = inFolder(o, func(dir string) error {
		s := serving{data: filepath.Join(dir, "data"), flush: usualFlush}
		f, err := fillStore(ctx, s, func(c *server.Control, f *filled) error { return f.addMembers(ctx, c, keys, each) })
		if err != nil {
			return err
		}
		steps := []func() ([]figure, error){s.startFigures}
		if pages != nil {
			steps = append(steps, func() ([]figure, error) { return pages(s) })
		}
		steps = append(steps, func() ([]figure, error) { return writtenFigure(s, f.keys) }, func() ([]figure, error) { return requestFigures(s, f.keys, o.lasts) })
		list, err = inOrder(ctx, steps)
		list = append(list, figure{"database", inBytes, float64(f.database)})
		return err
	})
	return list, err
}

// inOrder collects what the steps measure, one after the other.
func inOrder(ctx context.Context, steps []func() ([]figure, error)) (all []figure, err error) {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list, err := step()
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, list)
	}
	return all, nil
}
