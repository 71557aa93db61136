package redisstore

import (
	"context"
	"net/url"
	"time"

	"github.com/redis/rueidis"
)

// lookAgain is how often Sentinels are asked who the master is, besides the notices that they
// send: one that gets lost must not leave us with a Redis that is none any more.
const lookAgain = 5 * time.Second

// watched sets up an address that names Sentinels: redis://host:26379?master_set=NAME, more of
// them with addr=HOST:PORT. User and password are those of Redis; a Sentinel that wants some has
// them in sentinel_username and sentinel_password.
func watched(options *rueidis.ClientOption, address string) {
	if options.Sentinel.MasterSet == "" {
		return
	}
	if u, err := url.Parse(address); err == nil { // it was read before
		q := u.Query()
		options.Sentinel.Username, options.Sentinel.Password = q.Get("sentinel_username"), q.Get("sentinel_password")
	}
	options.Sentinel.Dialer.Timeout = ioTimeout
	options.Sentinel.TopologyRefreshInterval = lookAgain
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = "" // each of them has its own
		options.Sentinel.TLSConfig = options.TLSConfig.Clone()
	}
}

// The modes in which a Redis says that it runs.
const (
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// usable tells whether a Redis can be used: it answers, and is neither a node of a cluster nor a
// Sentinel.
//
// Returns BadConfig for those two.
func usable(ctx context.Context, client rueidis.Client) error {
	if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil {
		return err
	}
	about, err := client.Do(ctx, client.B().Arbitrary("HELLO").Build()).AsMap()
	if err != nil { // a Redis before version 6
		return nil
	}
	mode := about["mode"]
	switch name, _ := mode.ToString(); name {
	case modeCluster:
		return bad("this Redis is a node of a Redis Cluster, which nodegate doesn't support: use one Redis, or one with replicas and Redis Sentinel")
	case modeSentinel:
		return bad("this is a Redis Sentinel: add ?master_set=NAME to its address, with the name of what it watches")
	}
	return nil
}
