package mailer

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Config says which server takes the letters, and who writes them.
type Config struct {
	URL   string         // smtp://user:password@host:587 or smtps://host
	From  string         // an address, also with a name before it
	Roots *x509.CertPool // that the server's certificate is checked against; nil is the system's
}

// SMTP sends letters.
type SMTP struct {
	host, addr string
	direct     bool // TLS from the start
	user, pass string
	from       *mail.Address
	tls        *tls.Config
}

// SendTime bounds one letter, with everything from the dialling on.
const SendTime = 30 * time.Second

// NewSMTP reads the configuration. It does not call the server yet.
//
// Returns BadConfig.
func NewSMTP(c Config) (*SMTP, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return nil, bad("mail.smtp is not an address like smtp://user:password@host:587") // the cause may quote the password
	}
	from, err := mail.ParseAddress(c.From)
	if err != nil || !goodAddress(from.Address) {
		return nil, bad("mail.from is not an address like nodegate@example.com")
	}
	s := &SMTP{
		host: u.Hostname(), direct: u.Scheme == "smtps", user: u.User.Username(), from: from,
		tls: &tls.Config{ServerName: u.Hostname(), RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
	}
	s.pass, _ = u.User.Password()
	port := "587"
	if s.direct {
		port = "465"
	}
	s.addr = net.JoinHostPort(s.host, cmp.Or(u.Port(), port))
	return s, nil
}

// Send hands a letter to the server.
//
// Returns InvalidInput when the server refuses the address or the letter for good,
// and Busy for everything that may be better later.
func (s *SMTP) Send(ctx context.Context, l Letter) error {
	if !goodAddress(l.To) {
		return refused("no mail can be sent to this address", nil)
	}
	message, err := l.message(s.from, time.Now())
	if err != nil {
		return refused("the message can't be written", err)
	}
	ctx, cancel := context.WithTimeout(ctx, SendTime)
	defer cancel()
	return s.within(ctx, func(c *smtp.Client) error { return s.deliver(c, l.To, message) })
}

// Check greets the server and signs in, and sends nothing.
//
// Returns Busy when the server can't be used.
func (s *SMTP) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, SendTime)
	defer cancel()
	return s.within(ctx, func(c *smtp.Client) error {
		_ = c.Quit()
		return nil
	})
}

// within does something while it is signed in.
func (s *SMTP) within(ctx context.Context, do func(*smtp.Client) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return later("the mail server can't be reached", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if s.direct {
		conn = tls.Client(conn, s.tls)
	}
	defer conn.Close()
	client, err := smtp.NewClient(conn, s.host)
	if err != nil {
		return later("the mail server sent no greeting", err)
	}
	if err := s.enter(client, conn); err != nil {
		return err
	}
	return do(client)
}

// enter makes the connection safe and signs in.
func (s *SMTP) enter(c *smtp.Client, conn net.Conn) error {
	_, domain, _ := strings.Cut(s.from.Address, "@")
	if err := c.Hello(domain); err != nil {
		return later("the mail server rejected the greeting", err)
	}
	if !s.direct && !loopback(conn.RemoteAddr()) {
		if err := c.StartTLS(s.tls); err != nil {
			return later("the mail server offers no trusted encryption (STARTTLS), which other machines require", err)
		}
	}
	if s.user == "" {
		return nil
	}
	if err := c.Auth(smtp.PlainAuth("", s.user, s.pass, s.host)); err != nil {
		return later("the mail server rejected the user or the password of mail.smtp", err)
	}
	return nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// deliver sends the letter. Once the server took it, an odd good-bye is no failure.
func (s *SMTP) deliver(c *smtp.Client, to string, message []byte) error {
	if err := c.Mail(s.from.Address); err != nil {
		return later("the mail server rejected the sender in mail.from", err)
	}
	if err := c.Rcpt(to); err != nil {
		return outcome("the mail server rejected the recipient", err)
	}
	w, err := c.Data()
	if err != nil {
		return outcome("the mail server rejected the message", err)
	}
	if _, err := w.Write(message); err != nil {
		return later("the mail server closed the connection", err)
	}
	if err := w.Close(); err != nil {
		return outcome("the mail server rejected the message", err)
	}
	_ = c.Quit()
	return nil
}

// outcome tells a refusal for good from a temporary one.
func outcome(msg string, err error) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code >= 500 {
		return refused(msg, err)
	}
	return later(msg, err)
}

func later(msg string, err error) error {
	return &nodegate.Error{Op: "mailer.send", Code: nodegate.Busy, Msg: msg, Err: discreet(err)}
}

func refused(msg string, err error) error {
	return &nodegate.Error{Op: "mailer.send", Code: nodegate.InvalidInput, Msg: msg, Err: discreet(err)}
}

func bad(msg string) error {
	return &nodegate.Error{Op: "mailer", Code: nodegate.BadConfig, Msg: msg}
}

// discreet takes the addresses out of what a server said: it is for the log, and a
// mail address is nobody's business there.
func discreet(err error) error {
	if err == nil {
		return nil
	}
	const longest = 200
	words := strings.FieldsFunc(err.Error(), func(c rune) bool { return c <= ' ' })
	for i, w := range words {
		if strings.ContainsRune(w, '@') {
			words[i] = "[address]"
		}
	}
	text := strings.Join(words, " ")
	return errors.New(strings.ToValidUTF8(text[:min(len(text), longest)], ""))
}
