// Package localca is a small local certificate authority. It creates the
// certificate of a listener that has none configured, so that clients that require
// TLS work from the first start: they get the authority's certificate once
// (`nodegate ca` prints it) and trust what it signs.
//
// The authority's key stays in the data folder, readable by nobody else. Its certificate
// permits names of this machine, private addresses and the configured hosts only, so
// whoever steals the key can't pass for other sites to those who trust it. Listener
// certificates are made again when they run out or when the addresses change.
package localca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

const (
	certFile = "ca.pem"
	keyFile  = "ca-key.pem"

	authorityTime = 10 * 365 * 24 * time.Hour
	leafTime      = 90 * 24 * time.Hour
	renewBefore   = 30 * 24 * time.Hour
)

// Authority signs listener certificates.
type Authority struct {
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	pem   []byte
	hosts []string

	mu   sync.Mutex
	leaf *tls.Certificate
}

// Open reads the authority of a data folder, or makes one. hosts are the names and
// addresses that its certificates are for.
//
// Returns BadConfig for files that can't be used.
func Open(dir string, hosts []string) (*Authority, error) {
	certPath, keyPath := filepath.Join(dir, certFile), filepath.Join(dir, keyFile)
	if _, err := os.Stat(certPath); errors.Is(err, fs.ErrNotExist) {
		if err := create(dir, certPath, keyPath, hosts); err != nil {
			return nil, bad("can't create the local authority in "+dir, err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		return nil, bad("can't read the local authority: restore "+certPath+" and "+keyPath+" or remove both to create a new one", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || pair.Leaf == nil || !pair.Leaf.IsCA {
		return nil, bad(certPath+" is not the certificate of a local authority of nodegate: remove it and "+keyPath+" to create a new one", nil)
	}
	if host := forbidden(pair.Leaf, hosts); host != "" {
		return nil, bad("the local authority may not sign for "+host+", which was not configured when it was created: remove "+certPath+" and "+keyPath+
			" to create a new one and have clients trust it (nodegate ca prints it), or set storage.cert", nil)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	return &Authority{cert: pair.Leaf, key: key, pem: text, hosts: hosts}, nil
}

func bad(msg string, err error) error {
	return &nodegate.Error{Op: "localca", Code: nodegate.BadConfig, Msg: msg, Err: err}
}

// PEM is the authority's certificate, for clients to trust.
func (a *Authority) PEM() []byte { return a.pem }

// Certificate is for tls.Config.GetCertificate.
func (a *Authority) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaf == nil || time.Until(a.leaf.Leaf.NotAfter) < renewBefore {
		leaf, err := a.sign()
		if err != nil {
			return nil, err
		}
		a.leaf = leaf
	}
	return a.leaf, nil
}

// create writes the key first: a certificate without its key would look whole.
func create(dir, certPath, keyPath string, hosts []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "nodegate local authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(authorityTime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	constrain(template, hosts)
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := write(keyPath, "PRIVATE KEY", private); err != nil {
		return err
	}
	return write(certPath, "CERTIFICATE", cert)
}

// write puts a file in place whole, or not at all.
func write(path, kind string, der []byte) error {
	return disk.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// sign makes a certificate for the listener.
func (a *Authority) sign() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "nodegate"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: earlier(time.Now().Add(leafTime), a.cert.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range a.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key, Leaf: leaf}, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
