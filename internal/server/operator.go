package server

import (
	"context"
	"runtime"

	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// operator tells operators how the machine under the networks is.
type operator struct {
	*common
	build    Build
	store    *sqlstore.Store
	storage  *storageSide
	networks *networks
}

// system is what operators see of the machine under the networks.
func (o *operator) system(ctx context.Context) dashboard.System {
	d := dashboard.System{Version: o.build.Version, Commit: o.build.Commit, Go: runtime.Version(), Engine: o.cfg.Storage.Engine}
	problem := func(what string, err error) {
		if err != nil {
			o.log.Error("operator page", "what", what, "err", err)
			d.Problems = append(d.Problems, what+" isn't available. See the server log.")
		}
	}
	found, err := o.store.Database(ctx)
	problem("The database's size", err)
	d.Database, d.DatabaseBytes = found.Kind, found.Bytes
	d.DiskFree, err = disk.Free(o.cfg.Data)
	problem("The free disk space", err)
	problem("The state of the block store", o.storage.show(ctx, &d))
	d.Config, err = o.networks.config()
	problem("The configuration", err)
	return d
}
