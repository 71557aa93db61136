package goipfsapi

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	shell "github.com/ipfs/go-ipfs-api"
)

func TestErrorsOfContent(t *testing.T) {
	s := connect(t)
	dir, err := s.AddDir(folder(t))
	must(t, err)
	for name, c := range map[string]struct {
		run  func() error
		want string
	}{
		"cat":          {func() error { _, err := s.Cat(missing); return err }, "could not find"},
		"get":          {func() error { return s.Get(missing, t.TempDir()) }, "could not find"},
		"block":        {func() error { _, err := s.BlockGet(missing); return err }, "could not find"},
		"pin":          {func() error { return s.Pin(missing) }, "could not find"},
		"directory":    {func() error { _, err := s.Cat(dir); return err }, "this dag node is a directory"},
		"missing name": {func() error { _, err := s.Cat(dir + "/none"); return err }, `no link named "none"`},
		"no CID":       {func() error { _, err := s.Cat("nonsense"); return err }, "invalid path"},
		"not pinned":   {func() error { return s.Unpin(missing) }, "not pinned"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.run(), c.want) })
	}
}

// What is not served says what to use instead.
func TestInstead(t *testing.T) {
	s := connect(t)
	id := add(t, s, "hello")
	ctx := t.Context()
	for name, c := range map[string]struct {
		run  func() error
		want string
	}{
		"files mkdir": {func() error { return s.FilesMkdir(ctx, "/x") }, "wrap-with-directory"},
		"files write": {func() error { return s.FilesWrite(ctx, "/x", strings.NewReader("x")) }, "wrap-with-directory"},
		"files ls":    {func() error { _, err := s.FilesLs(ctx, "/"); return err }, "wrap-with-directory"},
		"files stat":  {func() error { _, err := s.FilesStat(ctx, "/"); return err }, "wrap-with-directory"},
		"publish":     {func() error { return s.Publish("", id) }, "use the CID"},
		"resolve":     {func() error { _, err := s.Resolve("example.org"); return err }, "use the CID"},
		"key list":    {func() error { _, err := s.KeyList(ctx); return err }, "use CIDs"},
		"key gen":     {func() error { _, err := s.KeyGen(ctx, "k"); return err }, "use CIDs"},
		"object get":  {func() error { _, err := s.ObjectGet(id); return err }, "removed, use 'ipfs dag'"},
		"object stat": {func() error { _, err := s.ObjectStat(id); return err }, "removed, use 'ipfs dag'"},
		"object put":  {func() error { _, err := s.ObjectPut(&shell.IpfsObject{Data: "x"}); return err }, "removed, use 'ipfs dag'"},
		"object new":  {func() error { _, err := s.NewObject(""); return err }, "removed, use 'ipfs dag'"},
		"patch":       {func() error { _, err := s.PatchLink(id, "a", id, true); return err }, "dag/put"},
		"patch data":  {func() error { _, err := s.PatchData(id, true, "x"); return err }, "removed, use 'ipfs dag'"},
		"file list":   {func() error { _, err := s.FileList("/ipfs/" + id); return err }, "command not found"},
		"peers":       {func() error { _, err := s.SwarmPeers(ctx); return err }, "command not found"},
		"find peer":   {func() error { _, err := s.FindPeer("x"); return err }, "command not found"},
		"pubsub":      {func() error { return s.PubSubPublish("x", "y") }, "command not found"},
		"bandwidth":   {func() error { _, err := s.StatsBW(ctx); return err }, "command not found"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.run(), c.want) })
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
			client := s.connect(t, c.account)
			if client.IsUp() {
				t.Error("it is up")
			}
			_, err := client.Add(strings.NewReader("hello"))
			refused(t, err, c.want)
			_, err = client.Cat(hello)
			refused(t, err, c.want)
		})
	}
}

func TestQuota(t *testing.T) {
	s := readStorage(t)
	client := s.connect(t, s.Small)
	_, err := client.Add(bytes.NewReader(data(5<<20, 4)))
	refused(t, err, "storage quota reached")
	if got := add(t, client, "hello"); got != hello {
		t.Errorf("a small file is %s, want %s", got, hello)
	}
}

func TestRateLimit(t *testing.T) {
	s := readStorage(t)
	client := s.connect(t, s.Slow)
	var err error
	for range 50 {
		if _, _, err = client.Version(); err != nil {
			break
		}
	}
	refused(t, err, "rate limit exceeded")
}

// slow is a file that takes too long.
type slow struct{}

func (slow) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return len(p), nil
}

func TestTimeout(t *testing.T) {
	s := connect(t)
	id, err := s.AddDir(folder(t))
	must(t, err)
	err = s.Request("resolve", "/ipfs/"+id+"/sub").Option("timeout", "1ns").Exec(context.Background(), nil)
	refused(t, err, "context deadline exceeded")
	s.SetTimeout(300 * time.Millisecond)
	if _, err = s.Add(slow{}); !os.IsTimeout(err) {
		t.Errorf("error %v, want that of a timeout", err)
	}
	s.SetTimeout(0)
	if got := add(t, s, "hello"); got != hello {
		t.Errorf("after it: %s", got)
	}
}
