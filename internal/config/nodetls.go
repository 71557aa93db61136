package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
)

// nodeProxy is the rule of a node's proxy. It is a secret: it may hold a password.
var nodeProxy = rule{says: "a URL like http://user:password@host:port or https://host:port, without a path", check: checkNodeProxy}

func checkNodeProxy(s string) error {
	if err := checkNodeURL("http", "https")(s); err != nil {
		return err
	}
	if u, err := url.Parse(s); err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errForm
	}
	return nil
}

// maxPEM bounds a file of certificates. The lists of all public authorities have about
// a quarter of that.
const maxPEM = 1 << 20

// readPEM reads a file of certificates or keys into a setting.
func (s *settler) readPEM(path, file string, to *Secret) bool {
	if file == "" {
		return false
	}
	text, err := slurp(file, maxPEM, errors.New("it is larger than 1 MiB; that is not a certificate or key"))
	if err != nil {
		s.failAt(path, "%q can't be read: %s", file, cause(err))
		return false
	}
	*to = Secret(text)
	return true
}

// readNodeTLS reads the files that a node's TLS needs, and tries whether they fit. What
// is wrong shows at the start, not at the first connection.
func (s *settler) readNodeTLS(n *Node, at string) {
	if s.readPEM(at+"ca_file", n.CAFile, &n.CA) && !x509.NewCertPool().AppendCertsFromPEM([]byte(n.CA)) {
		s.failAt(at+"ca_file", "%q has no certificate; it must hold one or more in PEM", n.CAFile)
	}
	switch {
	case n.CertFile != "" && n.KeyFile == "":
		s.failAt(at+"cert_file", "a client certificate needs its private key; set key_file too")
	case n.KeyFile != "" && n.CertFile == "":
		s.failAt(at+"key_file", "a private key needs its client certificate; set cert_file too")
	}
	cert, key := s.readPEM(at+"cert_file", n.CertFile, &n.Cert), s.readPEM(at+"key_file", n.KeyFile, &n.Key)
	if !cert || !key {
		return
	}
	if _, err := tls.X509KeyPair([]byte(n.Cert), []byte(n.Key)); err != nil {
		s.failAt(at+"cert_file", "%q and key_file are not a certificate and its private key in PEM, without a password: %s", n.CertFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
}

// checkNodeTransport refuses what would have no effect: it is more often a mistake in
// the address than nothing.
func (c *checker) checkNodeTransport(n *Node, at string) {
	if n.URL == "" && n.URLFile != "" || n.WS == "" && n.WSFile != "" || n.Proxy == "" && n.ProxyFile != "" {
		return // it can't be read, which is reported already
	}
	secure := strings.HasPrefix(string(n.URL), "https:") || strings.HasPrefix(string(n.WS), "wss:")
	if n.CAFile != "" && !secure && !strings.HasPrefix(string(n.Proxy), "https:") {
		c.failAt(at+"ca_file", "has no effect: the node has no address with TLS. Write https:// in url or wss:// in ws, or remove ca_file")
	}
	if n.CertFile != "" && !secure {
		c.failAt(at+"cert_file", "has no effect: the node has no address with TLS. Write https:// in url or wss:// in ws, or remove cert_file and key_file")
	}
	if n.Gzip && n.URL == "" {
		c.failAt(at+"gzip", "has no effect: it is for HTTP, and the node has ws alone. Add url, or remove gzip")
	}
}

// flattenTransport compares files by their content too: a new certificate under the old
// name is a change.
func flattenTransport(out map[string]flat, n *Node, base string) {
	out[base+".proxy"] = flat{set + string(n.Proxy), n.Proxy.String()}
	out[base+".ca_file"] = flat{set + n.CAFile + string(n.CA), n.CAFile}
	out[base+".cert_file"] = flat{set + n.CertFile + string(n.Cert), n.CertFile}
	out[base+".key_file"] = flat{set + n.KeyFile + string(n.Key), n.KeyFile}
}
