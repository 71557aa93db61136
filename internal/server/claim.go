package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// networkMeta begins the names under which the account store notes which data folder
// holds an embedded network.
const networkMeta = "network."

// claimNetworks refuses embedded networks that another server on the account store has:
// each would have a chain of its own, and clients would see either. The built-in networks
// are only warned about, since every server has them that nobody configured; elsewhere are
// those that another server has.
//
// Returns BadConfig.
func claimNetworks(ctx context.Context, cfg *config.Config, store nodegate.MetaStore, log *slog.Logger) (elsewhere []string, err error) {
	names := embeddedNames(cfg)
	if cfg.Store.Postgres == "" || len(names) == 0 {
		return nil, nil
	}
	id, err := readID(networksID(cfg))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		known, err := store.SetMeta(ctx, networkMeta+name, id)
		switch {
		case err != nil:
			return nil, err
		case known == id:
		case !isBuiltin(embeddedIn(cfg, name)):
			return nil, errClaimed(name)
		default:
			elsewhere = append(elsewhere, name)
			log.Warn("another server on this Postgres also has this built-in network, so clients see two different chains: use remote nodes for shared networks", "network", name)
		}
	}
	return elsewhere, nil
}

func errClaimed(name string) error {
	return &nodegate.Error{
		Op: "server.networks", Code: nodegate.BadConfig,
		Msg: "the embedded network " + name + " is in the data folder of another server on this Postgres: each server would have its own chain under this name. " +
			"Give the network another name on this server, or give it nodes instead of embedded. If the other server is permanently gone, or this data folder replaced its folder, run nodegate adopt to make this data folder the owner",
	}
}

func embeddedNames(cfg *config.Config) (names []string) {
	for i := range cfg.Networks {
		if n := &cfg.Networks[i]; n.Embedded != nil {
			names = append(names, n.Name)
		}
	}
	return names
}

// isBuiltin tells whether a network is as it is when nobody configures any.
func isBuiltin(n *config.Network) bool {
	return slices.ContainsFunc(config.Default().Networks, func(b config.Network) bool { return reflect.DeepEqual(b, *n) })
}

// networksID is the file that names the data folder as the one of embedded networks. A
// folder that is moved keeps it.
func networksID(cfg *config.Config) string { return filepath.Join(cfg.Data, "networks.id") }

// Adopt makes a data folder the one beside the account store: for its block store, and
// for its embedded networks.
func Adopt(ctx context.Context, cfg *config.Config, store nodegate.MetaStore) error {
	blocks, names := cfg.Storage.Engine == "embedded", embeddedNames(cfg)
	if cfg.Store.Postgres == "" || !blocks && len(names) == 0 {
		return &nodegate.Error{Op: "server.adopt", Code: nodegate.InvalidInput, Msg: "there is nothing to adopt: nodegate adopt is for the embedded block store and embedded networks of a server with Postgres (store.postgres)"}
	}
	if blocks {
		if err := adopt(ctx, store, blocksID(cfg.Data), blocksMeta); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := adopt(ctx, store, networksID(cfg), networkMeta+name); err != nil {
			return err
		}
	}
	return nil
}

func adopt(ctx context.Context, store nodegate.MetaStore, path, meta string) error {
	id, err := readID(path)
	if err != nil {
		return err
	}
	return store.ReplaceMeta(ctx, meta, id)
}
