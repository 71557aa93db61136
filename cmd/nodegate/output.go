package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// table writes lines whose cells stand below each other. Every cell is made safe:
// names and details come from users, and the terminal is the operator's.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table {
	return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

// row adds one line.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = safe(c)
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// flush writes the lines so far, aligned with each other.
func (t *table) flush() error { return t.w.Flush() }

// safe shows a text on one line. One with control characters, or others that a
// terminal may act upon, is quoted; nothing at all is a dash.
func safe(s string) string {
	if s == "" {
		return "-"
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unprintable) {
		return strconv.Quote(s)
	}
	return s
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// writeJSON writes one value on one line.
func writeJSON(w io.Writer, v any) error {
	line, err := jsonLine(v)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// jsonLine escapes what the standard library leaves alone and a terminal may act
// upon, such as U+009B, which begins an escape sequence.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	var line []byte
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case !unprintable(r):
			line = utf8.AppendRune(line, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			line = fmt.Appendf(line, `\u%04x\u%04x`, high, low)
		default:
			line = fmt.Appendf(line, `\u%04x`, r)
		}
	}
	return line, nil
}

// lister prints a list as lines below a header, or as a JSON array with one
// element a line. It writes as it goes: a list may be longer than the memory.
type lister struct {
	out   io.Writer
	lines *table // nil for JSON
	count int
}

func newLister(out io.Writer, asJSON bool, header ...string) *lister {
	l := &lister{out: out}
	if !asJSON {
		l.lines = newTable(out)
		l.lines.row(header...)
	}
	return l
}

// add prints one element: view as JSON, or cells as a line.
func (l *lister) add(view any, cells ...string) error {
	if l.lines != nil {
		l.lines.row(cells...)
		return nil
	}
	line, err := jsonLine(view)
	if err != nil {
		return err
	}
	before := ",\n"
	if l.count == 0 {
		before = "[\n"
	}
	l.count++
	_, err = io.WriteString(l.out, before+string(line))
	return err
}

// flush writes what is there so far.
func (l *lister) flush() error {
	if l.lines == nil {
		return nil
	}
	return l.lines.flush()
}

// end completes the list.
func (l *lister) end() error {
	if l.lines != nil {
		return l.lines.flush()
	}
	last := "\n]\n"
	if l.count == 0 {
		last = "[]\n"
	}
	_, err := io.WriteString(l.out, last)
	return err
}

// at shows a time to the second.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
