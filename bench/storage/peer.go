package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/bench/child"
)

// peer is the Kubo that does the same work.
type peer struct {
	url   *url.URL
	usage child.Usage
}

// findPeer reads the address of a Kubo; none is no peer.
func findPeer(address string) (*peer, error) {
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || u.Port() == "" || u.Path != "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("KUBO_API must be the base URL of Kubo's RPC API with its port, such as http://127.0.0.1:5001")
	}
	p := &peer{url: u}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		p.usage.PID = listenerOn(u.Port())
	}
	if !p.usage.Known() {
		progress("Kubo's process is not visible from here: its processor time and memory are left out")
	}
	return p, nil
}

func (p *peer) target() *target {
	return &target{
		name: "kubo", host: p.url.Host, tls: p.url.Scheme == "https", auth: basic(p.url.User), usage: p.usage,
		collect: fmt.Sprintf("%s/api/v0/repo/gc", p.url),
	}
}

// basic is the header that lets a user in, "" for nobody.
func basic(user *url.Userinfo) string {
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// listenerOn finds the process that listens on a port of this machine, or 0.
func listenerOn(port string) int {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	sockets := listeningSockets(uint16(number))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && slices.Contains(sockets, to) {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			return pid
		}
	}
	return 0
}

// listeningSockets lists the sockets that listen on a port, as the links in a
// process's folder name them.
func listeningSockets(port uint16) (list []string) {
	const listening = "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && fields[3] == listening && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				list = append(list, "socket:["+fields[9]+"]")
			}
		}
		_ = f.Close()
	}
	return list
}
