package mailer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/smtptest"
)

const canary = "pass word/@swordfish"

func letter(to string) Letter {
	return Letter{To: to, Subject: "90 % of today’s credits", Text: "One.\n.\n" + strings.Repeat("long ", 300) + "\nEnd: é\n", ID: "credits-1"}
}

// certificate is one for an address, with the pool that trusts it.
func certificate(t *testing.T, host string) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// outside is an address of this machine that is not the loopback's.
func outside(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address beside the loopback's")
	return ""
}

func sender(t *testing.T, address string, roots *x509.CertPool) *SMTP {
	t.Helper()
	s, err := NewSMTP(Config{URL: address, From: "The Gate <gate@example.com>", Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func signedIn(scheme, addr string) string {
	return (&url.URL{Scheme: scheme, User: url.UserPassword("me", canary), Host: addr}).String()
}

func TestSend(t *testing.T) {
	far := outside(t)
	farTLS, farRoots := certificate(t, far)
	nearTLS, nearRoots := certificate(t, "127.0.0.1")
	for _, c := range []struct {
		name   string
		server smtptest.Config
		scheme string
		roots  *x509.CertPool
		secure bool
	}{
		{"plain on the machine itself", smtptest.Config{}, "smtp", nil, false},
		{"plain with a password on the machine itself", smtptest.Config{Password: canary}, "smtp", nil, false},
		{"STARTTLS elsewhere", smtptest.Config{Host: far, TLS: farTLS, Password: canary}, "smtp", farRoots, true},
		{"TLS elsewhere", smtptest.Config{Host: far, TLS: farTLS, Direct: true, Password: canary}, "smtps", farRoots, true},
		{"TLS on the machine itself", smtptest.Config{TLS: nearTLS, Direct: true}, "smtps", nearRoots, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			address := c.scheme + "://" + server.Addr
			if c.server.Password != "" {
				address = signedIn(c.scheme, server.Addr)
			}
			if err := sender(t, address, c.roots).Send(t.Context(), letter("jürgen@exämple.com")); err != nil {
				t.Fatal(err)
			}
			got := server.Letters()
			if len(got) != 1 || got[0].Secure != c.secure || (got[0].User == "me") != (c.server.Password != "") {
				t.Fatalf("got %+v", got)
			}
			checkLetter(t, got[0])
		})
	}
}

func checkLetter(t *testing.T, got smtptest.Letter) {
	t.Helper()
	if got.From != "gate@example.com" || got.To != "jürgen@exämple.com" {
		t.Errorf("from %q to %q", got.From, got.To)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || subject != letter("").Subject {
		t.Errorf("the subject is %q, %v", subject, err)
	}
	if got.Header.Get("Message-Id") != "<credits-1@example.com>" || got.Header.Get("From") != `"The Gate" <gate@example.com>` {
		t.Errorf("the header is %v", got.Header)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(got.Text)))
	if strings.ReplaceAll(string(text), "\r\n", "\n") != letter("").Text || err != nil {
		t.Errorf("the text is %q, %v", text, err)
	}
	for line := range strings.SplitSeq(got.Text, "\n") {
		if len(line) > 78 {
			t.Errorf("a line has %d characters", len(line))
		}
	}
}

// TestNothingWithoutTLS: neither the letter nor the password leaves the machine in the
// clear, and a certificate that nobody vouches for is as good as none.
func TestNothingWithoutTLS(t *testing.T) {
	far := outside(t)
	stranger, roots := certificate(t, far)
	for name, c := range map[string]struct {
		server smtptest.Config
		scheme string
		roots  *x509.CertPool
	}{
		"no STARTTLS":         {smtptest.Config{Host: far, Password: canary}, "smtp", roots},
		"an unknown issuer":   {smtptest.Config{Host: far, TLS: stranger, Password: canary}, "smtp", nil},
		"the same with smtps": {smtptest.Config{Host: far, TLS: stranger, Direct: true, Password: canary}, "smtps", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			err := sender(t, signedIn(c.scheme, server.Addr), c.roots).Send(t.Context(), letter("a@example.com"))
			if !errors.Is(err, nodegate.Busy) || len(server.Letters()) != 0 {
				t.Errorf("got %v and %d letters", err, len(server.Letters()))
			}
			for _, line := range server.Heard() {
				if strings.HasPrefix(line, "AUTH") || strings.HasPrefix(line, "MAIL") {
					t.Errorf("it said %q", line)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		command, answer string
		code            nodegate.Code
	}{
		{"RCPT", "550 5.1.1 <a@example.com>: no such user a@example.com", nodegate.InvalidInput},
		{"RCPT", "450 greylisted a@example.com", nodegate.Busy},
		{"DATA", "554 no", nodegate.InvalidInput},
		{".", "554 spam", nodegate.InvalidInput},
		{".", "451 later", nodegate.Busy},
		{"MAIL", "550 not you", nodegate.Busy}, // a matter of the set-up, not of this reader
		{"AUTH", "535 no", nodegate.Busy},
		{"DATA", "no SMTP at all", nodegate.Busy},
	} {
		server := smtptest.Start(t, smtptest.Config{Password: canary})
		server.Answer(c.command, c.answer)
		err := sender(t, signedIn("smtp", server.Addr), nil).Send(t.Context(), letter("a@example.com"))
		if !errors.Is(err, c.code) || len(server.Letters()) != 0 {
			t.Errorf("%s %q: %v", c.command, c.answer, err)
		}
		if err != nil && (strings.Contains(err.Error(), "a@example.com") || strings.Contains(err.Error(), "swordfish")) {
			t.Errorf("the error tells too much: %v", err)
		}
	}
}

// TestHostileAddresses never reach a server: each could begin a line of its own.
func TestHostileAddresses(t *testing.T) {
	server := smtptest.Start(t, smtptest.Config{})
	s := sender(t, "smtp://"+server.Addr, nil)
	for _, to := range []string{
		"", "a", "@b", "a@", "a@b.com\r\nBcc: c@d.com", "a@b.com\nDATA", "a@b.com>\r\nRCPT TO:<c@d.com", "a@b.com> <c@d.com", "a@b.com,c@d.com",
		"a\x00@b.com", "a b@c.com", `"a"@b.com`, strings.Repeat("a", 250) + "@b.com", "a@b.com\u2028",
	} {
		if err := s.Send(t.Context(), letter(to)); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("%q: %v", to, err)
		}
	}
	if heard := server.Heard(); len(heard) != 0 {
		t.Errorf("the server heard %q", heard)
	}
	odd := letter("a@b.com")
	odd.Subject = "x\r\nBcc: c@d.com"
	if err := s.Send(t.Context(), odd); err != nil || server.Letters()[0].Header.Get("Bcc") != "" {
		t.Errorf("%v, %+v", err, server.Letters())
	}
}

func TestSilentServer(t *testing.T) {
	server := smtptest.Start(t, smtptest.Config{})
	server.Silent(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := sender(t, "smtp://"+server.Addr, nil).Send(ctx, letter("a@example.com")); !errors.Is(err, nodegate.Busy) {
		t.Errorf("got %v", err)
	}
	if err := sender(t, "smtp://127.0.0.1:1", nil).Send(t.Context(), letter("a@example.com")); !errors.Is(err, nodegate.Busy) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []Config{
		{URL: "http://h", From: "a@b.com"}, {URL: "smtp://", From: "a@b.com"}, {URL: "smtp://u:" + canary + "@h", From: "a@b.com"},
		{URL: "smtp://h", From: ""}, {URL: "smtp://h", From: "a"}, {URL: "smtp://h", From: "a@b.com\r\nBcc: c@d.com"},
	} {
		_, err := NewSMTP(c)
		if !errors.Is(err, nodegate.BadConfig) || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for address, want := range map[string]string{"smtp://h": "h:587", "smtps://h": "h:465", "smtp://h:25": "h:25", "smtps://[::1]": "[::1]:465"} {
		if got := sender(t, address, nil).addr; got != want {
			t.Errorf("%s is dialled as %s", address, got)
		}
	}
}
