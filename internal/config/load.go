package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Options say where values come from beside the defaults.
type Options struct {
	File  string            // path of the YAML file; "" looks at NODEGATE_CONFIG, and then takes none
	Env   []string          // as os.Environ returns it
	Flags map[string]string // by setting name, only those that were given
}

// Load makes the effective configuration: flags over environment over file over
// defaults. It reports every problem it finds, as Errors.
//
// Checks that compare settings run only once each value is good on its own, so
// that one mistake is not reported twice.
func Load(opts Options) (*Config, error) {
	l := newLoader(opts)
	l.readFile()
	l.readEnv()
	l.readFlags()
	if len(l.errs) == 0 {
		(&settler{l.draft}).settle()
		(&checker{l.draft}).check()
	}
	if len(l.errs) > 0 {
		l.sortErrors()
		return nil, l.errs
	}
	return l.cfg, nil
}

// origin is which of the four places a value came from.
type origin uint8

const (
	fromDefault origin = iota
	fromFile
	fromEnv
	fromFlag
)

// source is where one value came from, exactly.
type source struct {
	origin       origin
	name         string // the file, the variable or the flag
	line, column int    // in the file
}

// String is the comment that the dump puts behind a value.
func (s source) String() string {
	switch s.origin {
	case fromFile:
		return fmt.Sprintf("%s:%d:%d", s.name, s.line, s.column)
	case fromEnv:
		return "environment " + s.name
	case fromFlag:
		return "flag " + s.name
	}
	return "default"
}

// draft is a configuration on its way, and what is wrong with it so far. The loader
// reads it, the settler fills in what depends on other settings, the checker compares.
type draft struct {
	file string // as the user wrote it, for messages
	dir  string // the file's folder, absolute
	cfg  *Config
	src  map[string]source // by full path: limits.body_bytes, networks[0].name
	errs Errors
}

// loader reads from source to source.
type loader struct {
	*draft
	opts Options
}

// settler fills in what depends on other settings, and reads the files of secrets.
type settler struct{ *draft }

// checker makes the checks that compare settings with each other or with the disk.
type checker struct{ *draft }

func newLoader(opts Options) *loader {
	l := &loader{opts: opts, draft: &draft{cfg: Default(), src: map[string]source{}}}
	l.cfg.src = l.src
	l.file = opts.File
	if l.file == "" {
		l.file = lookup(opts.Env, fileVariable)
	}
	l.cfg.file = l.file
	return l
}

// fail notes a problem at a source. Problems of the environment and of flags
// name the variable or the flag; problems of the file have a position instead.
func (d *draft) fail(s source, path, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	switch s.origin {
	case fromEnv, fromFlag:
		d.errs = append(d.errs, &Error{Msg: s.name + ": " + msg})
	case fromFile:
		d.errs = append(d.errs, &Error{File: s.name, Line: s.line, Column: s.column, Msg: join(path, msg)})
	default:
		d.errs = append(d.errs, &Error{File: d.file, Msg: join(path, msg)})
	}
}

// failAt notes a problem of a setting, wherever it was set.
func (d *draft) failAt(path, format string, args ...any) {
	d.fail(d.src[path], path, format, args...)
}

// readFlags goes through the table, not the map, so that problems come in a fixed order.
func (l *loader) readFlags() {
	for _, f := range settings.fields {
		if text, ok := l.opts.Flags[f.name]; ok {
			assign(l, f, l.cfg, f.name, source{origin: fromFlag, name: flagName(f.name)}, text)
		}
	}
}

// assign puts a text into a field, or notes why it can't. The text of a secret
// stays out of the message.
func assign[T any](l *loader, f field[T], t *T, path string, s source, text string) {
	err := f.at(t).set(text)
	switch {
	case err == nil:
		l.src[path] = s
	case f.secret:
		l.fail(s, path, "can't be used; it must be %s. What was given is secret and not shown", f.at(t).allowed())
	default:
		l.fail(s, path, "%v", err)
	}
}

// settle fills in what depends on other settings.
func (s *settler) settle() {
	s.settlePaths()
	if _, own := s.src["networks"]; own && s.src["default_network"].origin == fromDefault {
		s.cfg.DefaultNetwork = ""
		if len(s.cfg.Networks) == 1 {
			s.cfg.DefaultNetwork = s.cfg.Networks[0].Name
		}
	}
	for i := range s.cfg.Networks {
		s.settlePreset(i)
		s.settleRemote(i)
	}
	s.readSecrets()
}

// settlePaths makes file names absolute: those of the file are relative to its
// folder, so that a configuration can be moved together with what it names.
func (s *settler) settlePaths() {
	s.settlePath("tls.cert", &s.cfg.TLS.Cert)
	s.settlePath("tls.key", &s.cfg.TLS.Key)
	s.settlePath("storage.cert", &s.cfg.Storage.TLS.Cert)
	s.settlePath("storage.key", &s.cfg.Storage.TLS.Key)
	s.settlePath("store.postgres_file", &s.cfg.Store.PostgresFile)
	s.settlePath("redis.url_file", &s.cfg.Redis.URLFile)
	s.settlePath("payment.stripe_key_file", &s.cfg.Payment.StripeKeyFile)
	s.settlePath("mail.smtp_file", &s.cfg.Mail.SMTPFile)
	s.settlePath("admin.token_file", &s.cfg.Admin.TokenFile)
	s.settlePath("tracing.authorization_file", &s.cfg.Tracing.AuthorizationFile)
	s.settlePath("alerts.webhook_file", &s.cfg.Alerts.WebhookFile)
	s.settlePath("alerts.webhook_secret_file", &s.cfg.Alerts.WebhookSecretFile)
	for i := range s.cfg.Storage.Kubo.Endpoints {
		s.settlePath(endpointPath(i)+"headers_file", &s.cfg.Storage.Kubo.Endpoints[i].HeadersFile)
	}
	for i := range s.cfg.Networks {
		n, at := &s.cfg.Networks[i], networkPath(i)
		if n.Embedded != nil {
			s.settlePath(at+"embedded.genesis", &n.Embedded.Genesis)
			s.settlePath(at+"embedded.chain", &n.Embedded.Chain)
		}
		if n.Layer2 != nil {
			s.settlePath(at+"layer2.dictionary", &n.Layer2.Dictionary)
		}
		s.settlePath(at+"verify_genesis", &n.Genesis)
		s.settleNodePaths(n, at)
	}
}

func (s *settler) settlePath(path string, p *string) {
	if *p == "" || filepath.IsAbs(*p) {
		return
	}
	if s.src[path].origin == fromFile {
		*p = filepath.Join(s.dir, *p)
	} else if abs, err := filepath.Abs(*p); err == nil {
		*p = abs
	}
}

// settlePreset drops the default preset of a network that brings its own genesis.
func (s *settler) settlePreset(i int) {
	e := s.cfg.Networks[i].Embedded
	if e == nil || e.Genesis == "" {
		return
	}
	at := networkPath(i) + "embedded.preset"
	if s.src[at].origin == fromFile {
		s.failAt(at, "a preset and a genesis exclude each other; remove one of them")
	}
	e.Preset = ""
}

// sortErrors puts the file's problems in the order of its lines, before the others.
func (d *draft) sortErrors() {
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(-cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// networkPath is the start of every path below one network.
func networkPath(i int) string { return fmt.Sprintf("networks[%d].", i) }

// join puts a path before a message, where there is one.
func join(path, msg string) string {
	if path == "" {
		return msg
	}
	return strings.TrimSuffix(path, ".") + ": " + msg
}
