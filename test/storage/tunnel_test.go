package storage_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// tunnel asks the server for a tunnel to an address, "" being its own, and then for a page of
// a host. It returns both statuses, and the page.
func (n *tenant) tunnel(t *testing.T, to, host string) (opened, status int, page string) {
	t.Helper()
	at, err := url.Parse(n.base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if to == "" {
		to = at.Host
	}
	in := bufio.NewReader(conn)
	ask := func(method, lines string) answer {
		if _, err := conn.Write([]byte(lines)); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return answer{status: res.StatusCode, body: string(data), err: err}
	}
	if opened = ask(http.MethodConnect, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n").status; opened != http.StatusOK {
		return opened, 0, ""
	}
	a := ask(http.MethodGet, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	return opened, a.status, a.body
}

// TestTunnel: a browser whose proxy is the gateway sees its sites, and gets nowhere else.
func TestTunnel(t *testing.T) {
	t.Parallel()
	n := sites(t, "public", nil).tenant(t, "tunnel", "unlimited")
	root := website(t, n, "<title>home</title>")
	host := root + ".ipfs.sites.example"
	for _, to := range []string{host + ":80", "sites.example:80", ""} {
		if opened, status, page := n.tunnel(t, to, host); opened != http.StatusOK || status != http.StatusOK || page != "<title>home</title>" {
			t.Errorf("%q: %d, %d %s", to, opened, status, page)
		}
	}
	for _, to := range []string{"example.com:80", "127.0.0.1:1", "sites.example.com:80", "x.sites.example:80", root + ".ipfs.example.com:80", strings.Repeat("a", 300) + ":80"} {
		if opened, _, _ := n.tunnel(t, to, host); opened != http.StatusForbidden && opened != http.StatusBadRequest {
			t.Errorf("%q: %d", to, opened)
		}
	}
	closed := sites(t, "off", nil).tenant(t, "tunnel", "unlimited")
	if opened, _, _ := closed.tunnel(t, host+":80", host); opened != http.StatusForbidden {
		t.Errorf("without a read gateway: %d", opened)
	}
}
