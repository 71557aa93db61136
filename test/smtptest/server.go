package smtptest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// Letter is one that the server took.
type Letter struct {
	From, To string // of the envelope
	Header   mail.Header
	Text     string // as it came
	Secure   bool   // over TLS
	User     string // who signed in
}

// Config says what the server is like.
type Config struct {
	Host     string      // to listen on; "" is 127.0.0.1
	TLS      *tls.Config // offered by STARTTLS; nil is none
	Direct   bool        // TLS from the start
	Password string      // that AUTH PLAIN wants; "" takes no sign-in
}

// Server is a running mail server.
type Server struct {
	Addr string // host:port
	cfg  Config
	ln   net.Listener

	mu      sync.Mutex
	letters []Letter
	heard   []string // commands, without what a letter says
	answers map[string]string
	silent  bool
	calls   int
}

// Start runs a server for a test.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: ln.Addr().String(), cfg: cfg, ln: ln, answers: map[string]string{}}
	if cfg.Direct {
		s.ln = tls.NewListener(ln, cfg.TLS)
	}
	go s.serve()
	t.Cleanup(func() { _ = ln.Close() })
	return s
}

// Answer has the server answer a command (MAIL, RCPT, DATA, "." and so on) in other
// words; "" is its own again.
func (s *Server) Answer(command, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[command] = line
}

// Silent has it accept connections and say nothing.
func (s *Server) Silent(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = on
}

// Letters are those it took so far.
func (s *Server) Letters() []Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Letter(nil), s.letters...)
}

// Calls is how many connections it has accepted.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Heard are the lines that clients sent, except letters.
func (s *Server) Heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.heard...)
}

func (s *Server) serve() {
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			return
		}
		go s.talk(conn)
	}
}

// talk holds one conversation.
func (s *Server) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	s.mu.Lock()
	s.calls++
	silent := s.silent
	s.mu.Unlock()
	if silent {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	l := Letter{Secure: s.cfg.Direct}
	in := textproto.NewReader(bufio.NewReader(conn))
	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	say("220 test ESMTP")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(line, " ")
		answer := s.answer(&l, strings.ToUpper(word), rest, line)
		say(answer)
		switch {
		case answer == startTLS:
			secure := tls.Server(conn, s.cfg.TLS)
			conn, l, in = secure, Letter{Secure: true}, textproto.NewReader(bufio.NewReader(secure))
		case strings.HasPrefix(answer, "354"):
			say(s.take(l, in))
		case strings.HasPrefix(answer, "221"):
			return
		}
	}
}

const startTLS = "220 go ahead"

// answer notes a command and says what is answered to it.
func (s *Server) answer(l *Letter, word, rest, line string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, line)
	if other := s.answers[word]; other != "" {
		return other
	}
	switch word {
	case "EHLO":
		lines := "250-test\r\n250-8BITMIME\r\n250-SMTPUTF8"
		if s.cfg.TLS != nil && !l.Secure {
			lines += "\r\n250-STARTTLS"
		}
		return lines + "\r\n250 AUTH PLAIN"
	case "STARTTLS":
		if s.cfg.TLS == nil {
			return "502 not here"
		}
		return startTLS
	case "AUTH":
		return s.signIn(l, rest)
	case "MAIL":
		l.From = address(rest)
	case "RCPT":
		l.To = address(rest)
	case "DATA":
		return "354 go on"
	case "QUIT":
		return "221 bye"
	}
	return "250 ok"
}

func (s *Server) signIn(l *Letter, rest string) string {
	text, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
	parts := strings.Split(string(text), "\x00")
	if len(parts) != 3 || s.cfg.Password == "" || parts[2] != s.cfg.Password {
		return "535 wrong"
	}
	l.User = parts[1]
	return "235 welcome"
}

func address(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}

// take reads a letter to its dot.
func (s *Server) take(l Letter, in *textproto.Reader) string {
	raw, err := io.ReadAll(in.DotReader())
	if err != nil {
		return "451 cut off"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.answers["."]; other != "" {
		return other
	}
	m, err := mail.ReadMessage(strings.NewReader(string(raw)))
	if err != nil {
		return "554 no letter"
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return "554 no letter"
	}
	l.Header, l.Text = m.Header, string(body)
	s.letters = append(s.letters, l)
	return "250 taken"
}
