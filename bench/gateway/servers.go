package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/bench/nginx"
)

// servers are the processes: the node, and nginx, nodegate and an earlier nodegate in front
// of it. The last is nil unless one is compared.
type servers struct{ node, nginx, gateway, earlier *process }

func startServers(ctx context.Context, binary, earlier, temp string) (*servers, error) {
	s := &servers{}
	var err error
	if s.node, err = startNode(ctx, binary, temp); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.nginx, err = startNginx(ctx, temp, s.node.url); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.gateway, err = startGateway(ctx, binary, filepath.Join(temp, "gateway"), s.node.url, "\n    ledger: {blocks: 0}"); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if earlier == "" {
		return s, nil
	}
	if s.earlier, err = startGateway(ctx, earlier, filepath.Join(temp, "earlier"), s.node.url, ""); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *servers) close() error {
	return errors.Join(s.earlier.close(), s.gateway.close(), s.nginx.close(), s.node.close())
}

// startNodegate serves a configuration in a folder of its own.
func startNodegate(ctx context.Context, binary, dir, settings, network string) (*process, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	rpc, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	admin, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nodegate.yaml")
	text := fmt.Sprintf("data: %s\nlisten: %s\nadmin_listen: %s\nstorage:\n  engine: \"off\"\nlimits:\n  connections_per_ip: 20000\n%s", filepath.Join(dir, "data"), rpc, admin, settings)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := start(binary, "serve", "--config", file)
	if err != nil {
		return nil, err
	}
	p.name = network
	if err := p.await(ctx, "http://"+rpc+"/readyz"); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if p.key = firstKey(p, filepath.Join(dir, "data", "first-start.txt")); p.key == "" {
		return nil, errors.Join(fmt.Errorf("the first start has made no key; nodegate printed:\n%s", p.log), p.close())
	}
	p.url = "http://" + rpc + "/" + network + "/v3/" + p.key
	p.admin = "http://" + admin
	return p, nil
}

// firstKey reads the key that a first start writes right after it begins to serve. Early
// builds print it.
func firstKey(p *process, file string) string {
	for range 100 {
		if made, err := os.ReadFile(file); err == nil {
			if key := between(string(made), "API key", "\n"); key != "" {
				return key
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return between(p.log.String(), "API key", "\n")
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return strings.TrimSpace(found)
}

func startNode(ctx context.Context, binary, temp string) (*process, error) {
	return startNodegate(ctx, binary, filepath.Join(temp, "node"), "", "devnet")
}

// startGateway serves the node twice: with a cache and without one. Both networks get the
// further settings: an earlier build may not know them.
func startGateway(ctx context.Context, binary, dir, node, further string) (*process, error) {
	const one = "  - name: %s\n    cache: %s%s\n    nodes:\n      - url: %s\n"
	settings := "networks:\n" + fmt.Sprintf(one, "cached", "64MiB", further, node) + fmt.Sprintf(one, "forwarded", "0", further, node)
	return startNodegate(ctx, binary, dir, settings, "cached")
}

// startNginx is nil where nginx is not installed.
func startNginx(ctx context.Context, temp, node string) (*process, error) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		progress("nginx is not installed (apt-get install nginx): its rows are left out")
		return nil, nil
	}
	dir := filepath.Join(temp, "nginx")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	u, err := url.Parse(node)
	if err != nil {
		return nil, err
	}
	listen, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, nginx.Config(dir, u.Host, listen), 0o644); err != nil {
		return nil, err
	}
	p, err := start(program, "-c", file, "-p", dir)
	if err != nil {
		return nil, err
	}
	p.url = "http://" + listen + u.Path
	return p, p.await(ctx, "http://"+listen+"/readyz")
}

// The ways through an earlier build.
const earlierCached, earlierForwarded = "earlier, cached", "earlier, forwarded"

// contestant is a way to the receipt that is measured.
type contestant struct {
	name     string
	url      *url.URL
	server   *process
	sequence atomic.Uint64
}

func (s *servers) contestants() ([]*contestant, error) {
	var all []*contestant
	add := func(name, address string, server *process) error {
		u, err := url.Parse(address)
		all = append(all, &contestant{name: name, url: u, server: server})
		return err
	}
	forwarded := func(p *process) string { return strings.Replace(p.url, "/cached/", "/forwarded/", 1) }
	err := errors.Join(add("direct", s.node.url, s.node), add("cached", s.gateway.url, s.gateway), add("forwarded", forwarded(s.gateway), s.gateway))
	if s.nginx != nil {
		err = errors.Join(err, add("nginx", s.nginx.url, s.nginx))
	}
	if s.earlier != nil {
		err = errors.Join(err, add(earlierCached, s.earlier.url, s.earlier), add(earlierForwarded, forwarded(s.earlier), s.earlier))
	}
	return all, err
}

// settle is how long a started server is left alone before its memory is read.
const settle = 3 * time.Second

func idleMemory(ctx context.Context, p *process) (float64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(settle):
	}
	return p.memory()
}
