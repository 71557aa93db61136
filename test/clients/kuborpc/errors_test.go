package kuborpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/boxo/files"
	cmds "github.com/ipfs/go-ipfs-cmds"
	ipld "github.com/ipfs/go-ipld-format"
	"github.com/ipfs/kubo/client/rpc"
	"github.com/ipfs/kubo/core/coreiface/options"
)

func TestVersionAndIdentity(t *testing.T) {
	s := readStorage(t)
	for name, api := range map[string]*rpc.HttpApi{"plain": s.connect(t, s.Own), "TLS": s.connectTLS(t)} {
		t.Run(name, func(t *testing.T) {
			var v struct{ Version string }
			if err := api.Request("version").Exec(deadline(t), &v); err != nil || v.Version == "" {
				t.Errorf("%+v, %v", v, err)
			}
			key, err := api.Key().Self(deadline(t))
			if err != nil || !strings.HasPrefix(key.ID().String(), "12D3Koo") {
				t.Errorf("%v, %v", key, err)
			}
			if got := add(t, api, fileOf("hello")); got.String() != hello {
				t.Errorf("%s, want %s", got, hello)
			}
			if got := read(t, api, parse(t, hello)); string(got) != "hello" {
				t.Errorf("content %q", got)
			}
		})
	}
}

// WithOptions makes a client that asks for local content only.
func TestOffline(t *testing.T) {
	api := connect(t)
	root := add(t, api, fileOf("hello"), options.Unixfs.Pin(true, ""))
	offline, err := api.WithOptions(options.Api.Offline(true))
	must(t, err)
	if how := pinned(t, offline, root); how != "recursive" {
		t.Errorf("it is %s", how)
	}
}

func TestErrorsOfContent(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	for name, c := range map[string]struct {
		run  func(context.Context) error
		want string
	}{
		"block":        {func(ctx context.Context) error { _, err := api.Block().Get(ctx, parse(t, missing)); return err }, "could not find"},
		"block stat":   {func(ctx context.Context) error { _, err := api.Block().Stat(ctx, parse(t, missing)); return err }, "could not find"},
		"node":         {func(ctx context.Context) error { _, err := api.Dag().Get(ctx, cidOf(t, missing[6:])); return err }, "could not find"},
		"file":         {func(ctx context.Context) error { _, err := api.Unixfs().Get(ctx, parse(t, missing)); return err }, "could not find"},
		"pin":          {func(ctx context.Context) error { return api.Pin().Add(ctx, parse(t, missing)) }, "could not find"},
		"missing name": {func(ctx context.Context) error { _, err := api.Unixfs().Get(ctx, join(t, root, "none")); return err }, `no link named "none"`},
		"not pinned":   {func(ctx context.Context) error { return api.Pin().Rm(ctx, parse(t, missing)) }, "not pinned"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.run(deadline(t)), c.want) })
	}
	// Programs ask for the type of this error, not for its words.
	if _, err := api.Block().Get(deadline(t), parse(t, missing)); !ipld.IsNotFound(err) {
		t.Errorf("%v is not the error of a missing block", err)
	}
	if _, err := api.Dag().Get(deadline(t), cidOf(t, missing[6:])); !ipld.IsNotFound(err) {
		t.Errorf("%v is not the error of a missing block", err)
	}
}

// What is not served says what to use instead.
func TestInstead(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	for name, c := range map[string]struct {
		run  func(context.Context) error
		want string
	}{
		"name publish": {func(ctx context.Context) error { _, err := api.Name().Publish(ctx, root); return err }, "use the CID"},
		"name resolve": {func(ctx context.Context) error { _, err := api.Name().Resolve(ctx, "example.org"); return err }, "use the CID"},
		"a name": {func(ctx context.Context) error {
			_, err := api.Unixfs().Get(ctx, parse(t, "/ipns/example.org"))
			return err
		}, "use the CID"},
		"key list":     {func(ctx context.Context) error { _, err := api.Key().List(ctx); return err }, "use CIDs"},
		"key generate": {func(ctx context.Context) error { _, err := api.Key().Generate(ctx, "k"); return err }, "use CIDs"},
		"add link":     {func(ctx context.Context) error { _, err := api.Object().AddLink(ctx, root, "n", root); return err }, "dag/put"},
		"remove link":  {func(ctx context.Context) error { _, err := api.Object().RmLink(ctx, root, "a.txt"); return err }, "dag/put"},
		"block remove": {func(ctx context.Context) error { return api.Block().Rm(ctx, root) }, "pin/rm"},
		"node remove":  {func(ctx context.Context) error { return api.Dag().Remove(ctx, root.RootCid()) }, "pin/rm"},
		"peers":        {func(ctx context.Context) error { _, err := api.Swarm().Peers(ctx); return err }, "command not found"},
		"topics":       {func(ctx context.Context) error { _, err := api.PubSub().Ls(ctx); return err }, "command not found"},
		"routing":      {func(ctx context.Context) error { _, err := api.Routing().Get(ctx, "/ipns/x"); return err }, "command not found"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.run(deadline(t)), c.want) })
	}
}

func TestErrorsOfAccess(t *testing.T) {
	s := readStorage(t)
	for name, c := range map[string]struct {
		account account
		want    string
	}{
		"wrong secret": {account{s.Own.Key, strings.Repeat("0", 40)}, "basic auth failure: invalid API key or API key secret"},
		"no key":       {account{}, "API key required"},
		"no card":      {s.Poor, "a billing card is required to use the storage gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			api := s.connect(t, c.account)
			_, err := api.Unixfs().Add(deadline(t), fileOf("hello"))
			refused(t, err, c.want)
			_, err = api.Unixfs().Get(deadline(t), parse(t, hello))
			refused(t, err, c.want)
		})
	}
}

func TestQuota(t *testing.T) {
	s := readStorage(t)
	api := s.connect(t, s.Small)
	_, err := api.Unixfs().Add(deadline(t), files.NewBytesFile(data(5<<20, 5)))
	refused(t, err, "storage quota reached")
	if got := add(t, api, fileOf("hello")); got.String() != hello {
		t.Errorf("a small file is %s, want %s", got, hello)
	}
}

// Programs ask for the code of this error, and wait.
func TestRateLimit(t *testing.T) {
	s := readStorage(t)
	api := s.connect(t, s.Slow)
	var err error
	for range 50 {
		if err = api.Request("version").Exec(deadline(t), nil); err != nil {
			break
		}
	}
	refused(t, err, "rate limit exceeded")
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != cmds.ErrRateLimited {
		t.Errorf("%+v is not the error of a rate limit", err)
	}
}

// endless is a file that never ends.
type endless struct{ sent chan struct{} }

func (e *endless) Read(p []byte) (int, error) {
	select {
	case e.sent <- struct{}{}:
	default:
	}
	time.Sleep(time.Millisecond)
	return len(p), nil
}

func TestCancel(t *testing.T) {
	api := connect(t)
	ctx, cancel := context.WithCancel(deadline(t))
	e := &endless{make(chan struct{}, 1)}
	go func() {
		<-e.sent
		cancel()
	}()
	if _, err := api.Unixfs().Add(ctx, files.NewReaderFile(e)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if got := add(t, api, fileOf("hello")); got.String() != hello {
		t.Errorf("after it: %s", got)
	}
}

func TestTimeout(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	err := api.Request("resolve", root.String()+"/sub").Option("timeout", "1ns").Exec(deadline(t), nil)
	refused(t, err, "context deadline exceeded")
}
