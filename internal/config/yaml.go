package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// node is one value of the file with its position.
type node = ast.Node

// maxFile bounds the file. A real one has a few kilobytes; a larger one is a
// wrong path, such as a chain file.
const maxFile = 256 << 10

// readFile reads the YAML file, if there is one, over the defaults.
func (l *loader) readFile() {
	if l.file == "" {
		return
	}
	body, err := l.parseFile()
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	if _, null := body.(*ast.NullNode); body == nil || null {
		l.cfg.empty = true
		return
	}
	readSection(l, l.cfg, settings, "", "", body)
}

// parseFile returns the file's one document, nil when it is empty.
func (l *loader) parseFile() (node, *Error) {
	text, err := l.slurp()
	if err != nil {
		return nil, err
	}
	// Duplicate keys are found by our own walk, which reports them all.
	file, parseErr := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if parseErr != nil {
		return nil, l.syntaxError(parseErr)
	}
	var bodies []node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, nil
	case 1:
		return bodies[0], nil
	}
	s := l.place(bodies[1])
	return nil, &Error{s.name, s.line, s.column, "more than one YAML document; keep one and remove the --- line"}
}

// slurp reads the file and remembers its folder.
func (l *loader) slurp() ([]byte, *Error) {
	bad := func(msg string) ([]byte, *Error) { return nil, &Error{File: l.file, Msg: msg} }
	f, err := os.Open(l.file)
	if err != nil {
		return bad("can't be read: " + cause(err) + "; check --config or NODEGATE_CONFIG")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return bad("can't be read: " + cause(err))
	case len(text) > maxFile:
		return bad("is larger than 256 KiB; that is not a configuration file")
	case !utf8.Valid(text):
		return bad("is not UTF-8 text; that is not a configuration file")
	}
	if abs, err := filepath.Abs(l.file); err == nil {
		l.dir = filepath.Dir(abs)
	}
	return []byte(strings.TrimPrefix(string(text), "\ufeff")), nil
}

// syntaxError keeps the library's message and position, and drops the excerpt of
// the file that it draws: an excerpt could hold a secret.
func (l *loader) syntaxError(err error) *Error {
	e := &Error{File: l.file, Msg: "is not valid YAML"}
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return e
	}
	e.Msg = "not valid YAML: " + ye.GetMessage() + "; check indentation, quotes and brackets"
	if t := ye.GetToken(); t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// place is where a node starts. A block mapping's own token is the colon of its
// first pair, so its first key stands in.
func (l *loader) place(n node) source {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	s := source{origin: fromFile, name: l.file, line: 1, column: 1}
	if t := n.GetToken(); t != nil && t.Position != nil {
		s.line, s.column = t.Position.Line, t.Position.Column
	}
	return s
}

// cause is the reason in an error of the operating system, without the path that
// the message names already.
func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
