package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// maxExamAnswer bounds what is read of an answer.
const maxExamAnswer = 64 << 10

// ask sends a request and reads a short answer. Redirects are not followed: a node's would
// carry credentials to whom it names.
func ask(ctx context.Context, verb, address string, headers map[string]config.Secret) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, verb, address, nil)
	if err != nil {
		return nil, nil, errors.New("not an address")
	}
	for name, value := range headers {
		req.Header.Set(name, string(value))
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, discreetURL(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxExamAnswer))
	return res, body, err
}

// discreetURL leaves out the address, which may hold a key.
func discreetURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// kubo asks each storage node for its version.
func (e *exam) kubo(ctx context.Context) {
	const name = "kubo"
	if e.cfg.Storage.Engine != "kubo" {
		e.ok(name, "not used: storage.engine is %s", e.cfg.Storage.Engine)
		return
	}
	var versions, away []string
	for i, p := range e.cfg.Storage.Kubo.Endpoints {
		version, err := e.kuboNode(ctx, i+1, p)
		if err != nil {
			away = append(away, fmt.Sprintf("node %d: %v", i+1, err))
			continue
		}
		versions = append(versions, version)
	}
	all := len(e.cfg.Storage.Kubo.Endpoints)
	if len(away) > 0 {
		e.problem(name, "%d of %d nodes answer; %s", len(versions), all, strings.Join(away, "; "))
		return
	}
	e.ok(name, "%d of %d nodes answer: %s", len(versions), all, strings.Join(versions, ", "))
}

func (e *exam) kuboNode(ctx context.Context, number int, p config.KuboEndpoint) (version string, err error) {
	began := time.Now()
	res, body, err := ask(ctx, http.MethodPost, strings.TrimSuffix(p.URL, "/")+"/api/v0/version", p.Headers)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers with status %d", res.StatusCode)
	}
	var answer struct{ Version string }
	if json.Unmarshal(body, &answer) != nil || answer.Version == "" {
		return "", errors.New("it doesn't answer as a Kubo node does")
	}
	e.dated(fmt.Sprintf("kubo node %d", number), res, began)
	return answer.Version, nil
}

// dated compares the clock of whoever answered. Its header is to the second.
func (e *exam) dated(name string, res *http.Response, began time.Time) {
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		e.times = append(e.times, clock{name, time.Until(at), time.Since(began) + time.Second})
	}
}

// balancer asks the public address for what only this service answers.
func (e *exam) balancer(ctx context.Context) {
	const name = "balancer"
	if e.cfg.Dashboard.URL == "" {
		if e.cfg.Store.Postgres != "" {
			e.note(name, "dashboard.url is not set: the public address is not known")
		} else {
			e.ok(name, "not used: dashboard.url is not set")
		}
		return
	}
	began := time.Now()
	res, body, err := ask(ctx, http.MethodGet, strings.TrimSuffix(e.cfg.Dashboard.URL, "/")+"/readyz", nil)
	text := strings.TrimSpace(string(body))
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &bad):
		e.problem(name, "dashboard.url has a certificate that clients don't trust: %v", bad.Err)
	case err != nil:
		e.problem(name, "dashboard.url doesn't answer: %v", err)
	case res.StatusCode == http.StatusServiceUnavailable:
		e.problem(name, "dashboard.url answers 503: no server behind it is ready")
	case res.StatusCode != http.StatusOK || text != "ok":
		e.problem(name, "something other than nodegate answers at dashboard.url: status %d for /readyz", res.StatusCode)
	case e.cfg.Store.Postgres != "" && len(e.cfg.TrustedProxies) == 0:
		e.note(name, "dashboard.url answers. trusted_proxies is empty: behind a balancer, all clients count as one address")
		e.dated(name, res, began)
	default:
		e.ok(name, "dashboard.url answers")
		e.dated(name, res, began)
	}
}

const (
	certificateNote = 21 * 24 * time.Hour
	anyName         = ""
)

// certificates reads those that the listeners serve.
func (e *exam) certificates(context.Context) {
	const name = "certificates"
	before := len(e.checks)
	if t := e.cfg.TLS; t.Cert != "" {
		host := anyName
		if u, err := url.Parse(e.cfg.Dashboard.URL); err == nil && u.Scheme == "https" {
			host = u.Hostname()
		}
		e.certificate(name, "tls.cert", t, []string{host})
	}
	switch t := e.cfg.Storage.TLS; {
	case e.cfg.Storage.Engine == "off":
	case t.Cert != "":
		e.certificate(name, "storage.cert", t, e.cfg.Storage.Hosts)
	case has(e.cfg.Data, "ca.pem"):
		e.authority(name)
	}
	if len(e.checks) == before {
		e.ok(name, "none configured")
	}
}

// certificate checks a pair of files: that they fit, until when, and for which names.
func (e *exam) certificate(name, setting string, files config.TLS, hosts []string) {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		e.problem(name, "%s can't be used: %v", setting, err)
		return
	}
	leaf := pair.Leaf
	for _, host := range hosts {
		if host == anyName {
			continue
		}
		if err := leaf.VerifyHostname(host); err != nil {
			e.problem(name, "%s is not for %s: %v", setting, host, err)
			return
		}
	}
	e.lifetime(name, setting+" for "+strings.Join(leaf.DNSNames, ", "), leaf)
}

// authority checks the local one.
func (e *exam) authority(name string) {
	text, err := os.ReadFile(filepath.Join(e.cfg.Data, "ca.pem"))
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		e.problem(name, "ca.pem can't be read: %v", err)
		return
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		e.problem(name, "ca.pem can't be read: %v", err)
		return
	}
	e.lifetime(name, "the local authority of the storage gateway", ca)
}

func (e *exam) lifetime(name, what string, c *x509.Certificate) {
	left := time.Until(c.NotAfter)
	end := c.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case left < 0:
		e.problem(name, "%s expired on %s", what, end)
	case time.Until(c.NotBefore) > 0:
		e.problem(name, "%s is valid only from %s on", what, c.NotBefore.UTC().Format(time.RFC3339))
	case left < certificateNote:
		e.note(name, "%s expires on %s, in %d days", what, end, int(left.Hours()/24))
	default:
		e.ok(name, "%s expires on %s", what, end)
	}
}
