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
		l.settle()
		l.check()
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

// loader carries one load from source to source.
type loader struct {
	opts Options
	file string // as the user wrote it, for messages
	dir  string // the file's folder, absolute
	cfg  *Config
	src  map[string]source // by full path: limits.body_bytes, networks[0].name
	errs Errors
}

func newLoader(opts Options) *loader {
	l := &loader{opts: opts, cfg: Default(), src: map[string]source{}}
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
func (l *loader) fail(s source, path, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	switch s.origin {
	case fromEnv, fromFlag:
		l.errs = append(l.errs, &Error{Msg: s.name + ": " + msg})
	case fromFile:
		l.errs = append(l.errs, &Error{File: s.name, Line: s.line, Column: s.column, Msg: join(path, msg)})
	default:
		l.errs = append(l.errs, &Error{File: l.file, Msg: join(path, msg)})
	}
}

// failAt notes a problem of a setting, wherever it was set.
func (l *loader) failAt(path, format string, args ...any) {
	l.fail(l.src[path], path, format, args...)
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
func (l *loader) settle() {
	l.settlePaths()
	if _, own := l.src["networks"]; own && l.src["default_network"].origin == fromDefault {
		l.cfg.DefaultNetwork = ""
		if len(l.cfg.Networks) == 1 {
			l.cfg.DefaultNetwork = l.cfg.Networks[0].Name
		}
	}
	for i := range l.cfg.Networks {
		l.settlePreset(i)
		l.settleRemote(i)
	}
	l.readSecrets()
}

// settlePaths makes file names absolute: those of the file are relative to its
// folder, so that a configuration can be moved together with what it names.
func (l *loader) settlePaths() {
	l.settlePath("tls.cert", &l.cfg.TLS.Cert)
	l.settlePath("tls.key", &l.cfg.TLS.Key)
	l.settlePath("storage.cert", &l.cfg.Storage.TLS.Cert)
	l.settlePath("storage.key", &l.cfg.Storage.TLS.Key)
	l.settlePath("store.postgres_file", &l.cfg.Store.PostgresFile)
	l.settlePath("redis.url_file", &l.cfg.Redis.URLFile)
	l.settlePath("payment.stripe_key_file", &l.cfg.Payment.StripeKeyFile)
	l.settlePath("mail.smtp_file", &l.cfg.Mail.SMTPFile)
	l.settlePath("admin.token_file", &l.cfg.Admin.TokenFile)
	for i := range l.cfg.Storage.Kubo.Endpoints {
		l.settlePath(endpointPath(i)+"headers_file", &l.cfg.Storage.Kubo.Endpoints[i].HeadersFile)
	}
	for i := range l.cfg.Networks {
		n, at := &l.cfg.Networks[i], networkPath(i)
		if n.Embedded != nil {
			l.settlePath(at+"embedded.genesis", &n.Embedded.Genesis)
			l.settlePath(at+"embedded.chain", &n.Embedded.Chain)
		}
		if n.Layer2 != nil {
			l.settlePath(at+"layer2.dictionary", &n.Layer2.Dictionary)
		}
		l.settleNodePaths(n, at)
	}
}

func (l *loader) settlePath(path string, p *string) {
	if *p == "" || filepath.IsAbs(*p) {
		return
	}
	if l.src[path].origin == fromFile {
		*p = filepath.Join(l.dir, *p)
	} else if abs, err := filepath.Abs(*p); err == nil {
		*p = abs
	}
}

// settlePreset drops the default preset of a network that brings its own genesis.
func (l *loader) settlePreset(i int) {
	e := l.cfg.Networks[i].Embedded
	if e == nil || e.Genesis == "" {
		return
	}
	at := networkPath(i) + "embedded.preset"
	if l.src[at].origin == fromFile {
		l.failAt(at, "a preset and a genesis exclude each other; remove one of them")
	}
	e.Preset = ""
}

// sortErrors puts the file's problems in the order of its lines, before the others.
func (l *loader) sortErrors() {
	slices.SortStableFunc(l.errs, func(a, b *Error) int {
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
