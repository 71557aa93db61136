package server

import (
	"context"
	"log/slog"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/store/redisstore"
)

// PurgeCache removes the responses that servers share over Redis, of one network or with ""
// of all, and returns how many there were. What a running server has in memory stays.
//
// Returns BadConfig without a Redis, and Busy when it does not answer.
func PurgeCache(ctx context.Context, cfg *config.Config, log *slog.Logger, network string) (removed int64, err error) {
	if cfg.Redis.URL == "" {
		return 0, &nodegate.Error{Op: "server.purge", Code: nodegate.BadConfig, Msg: "no shared cache: redis.url is not set. Restart a server to clear its own cache"}
	}
	store, err := redisstore.Open(ctx, string(cfg.Redis.URL), log)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	return store.PurgeAnswers(ctx, network)
}
