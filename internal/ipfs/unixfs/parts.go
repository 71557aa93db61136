package unixfs

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// The content types that make a part something else than a file.
const (
	typeForm      = "multipart/form-data"
	typeDirectory = "application/x-directory"
	typeSymlink   = "application/symlink"
)

// maxTarget is how long the target of a symlink may be.
const maxTarget = 4096

// part is one part of an upload. Its body must be read before the next part is
// asked for.
type part struct {
	path string // cleaned, from "/"
	kind byte   // kindFile, kindDirectory or kindSymlink
	stat stat
	body io.Reader
}

// walker hands out the parts of a multipart body with Kubo's rules for names. It
// bounds what boxo's reader of the same rules does not: parts, names, link targets.
type walker struct {
	reader *multipart.Reader
	ahead  *part // looked at, but not taken
	err    error // io.EOF after the closing boundary
	parts  int
	limit  int
	turn   func() error // called for each part, whose headers take work
}

// peek returns the next part without taking it.
func (w *walker) peek() (*part, error) {
	if w.ahead != nil || w.err != nil {
		return w.ahead, w.err
	}
	p, err := w.reader.NextPart()
	switch {
	case err == io.EOF: // the closing boundary: a body that just ends is another error
		w.err = err
		return nil, w.err
	case err != nil:
		w.err = badBody(err)
		return nil, w.err
	}
	if w.err = w.turn(); w.err != nil {
		return nil, w.err
	}
	if w.parts++; w.parts > w.limit {
		w.err = tooLarge("too many files in one request: at most %d", w.limit)
		return nil, w.err
	}
	w.ahead, w.err = newPart(p.Header, p)
	return w.ahead, w.err
}

// take removes the part that peek showed.
func (w *walker) take() { w.ahead = nil }

// badBody is the error of a body that is no multipart or ends early.
func badBody(err error) error {
	if errors.As(err, new(*nodegate.Error)) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return usage("the body ended early: multipart data must end with its closing boundary")
	}
	return usage("%s", err.Error())
}

func newPart(h textproto.MIMEHeader, body io.Reader) (*part, error) {
	p := &part{kind: kindFile, body: body}
	if text := h.Get("Content-Type"); text != "" {
		media, _, err := mime.ParseMediaType(text)
		if err != nil {
			return nil, usage("%s", err.Error())
		}
		switch media {
		case typeForm, typeDirectory:
			p.kind = kindDirectory
		case typeSymlink:
			p.kind = kindSymlink
		}
	}
	disposition, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil { // Kubo drops such a part and all after it without a word
		return nil, usage("a part has no Content-Disposition that can be read: %s", err.Error())
	}
	p.path = cleanName(params["filename"])
	if strings.ContainsRune(p.path, 0) { // no file system has such a name, and no tar can carry it
		return nil, usage("the file name %q has a NUL character: rename the file", p.path)
	}
	if len(p.path) > maxName {
		return nil, usage("a file name is too long: at most %d bytes", maxName)
	}
	if strings.Count(p.path, "/") > maxFolderDepth {
		return nil, usage("directories are nested too deeply: at most %d", maxFolderDepth)
	}
	if disposition == "form-data" {
		p.stat = statOf(params["name"])
	}
	return p, nil
}

// cleanName is a file name as Kubo takes it: unescaped, and always inside the root.
func cleanName(name string) string {
	if unescaped, err := url.QueryUnescape(name); err == nil {
		name = unescaped
	}
	return path.Clean("/" + name)
}

// statOf reads mode and time out of a field's name: file?mode=0644&mtime=1700000000.
func statOf(field string) (s stat) {
	_, query, ok := strings.Cut(field, "?")
	if !ok {
		return s
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return s
	}
	if mode, err := strconv.ParseUint(params.Get("mode"), 8, 32); err == nil {
		s.mode = os.FileMode(mode)
	}
	var seconds int64
	if params.Has("mtime") {
		if seconds, err = strconv.ParseInt(params.Get("mtime"), 10, 64); err != nil {
			return s
		}
	}
	nanos, _ := strconv.ParseInt(params.Get("mtime-nsecs"), 10, 64)
	s.mtime = time.Unix(seconds, nanos)
	return s
}

// target reads where a symlink points to.
func (p *part) target() (string, error) {
	b, err := io.ReadAll(io.LimitReader(p.body, maxTarget+1))
	if err != nil {
		return "", badBody(err)
	}
	if len(b) > maxTarget {
		return "", usage("the target of a symlink is too long: at most %d bytes", maxTarget)
	}
	return string(b), nil
}

// listing goes through the entries of one directory of the upload.
type listing struct {
	walker *walker
	path   string // of the directory
	name   string // of the current entry
	part   *part  // of the current entry; nil when only the entries below it are there
	err    error
}

// next moves to the next entry, as long as parts belong to this directory. A part
// below an entry that was passed already is skipped, as Kubo does.
func (l *listing) next() bool {
	for {
		p, err := l.walker.peek()
		if err != nil {
			if err != io.EOF {
				l.err = err
			}
			return false
		}
		if !below(p.path, l.path) {
			return false
		}
		if l.name != "" && below(p.path, path.Join(l.path, l.name)) {
			l.walker.take()
			continue
		}
		rest := strings.TrimPrefix(p.path, asFolder(l.path))
		name, _, deeper := strings.Cut(rest, "/")
		l.name, l.part = name, nil
		if !deeper {
			l.walker.take()
			l.part = p
		}
		return true
	}
}

// dir lists the current entry, a directory.
func (l *listing) dir() *listing {
	return &listing{walker: l.walker, path: path.Join(l.path, l.name)}
}

// stat is what is known of the current entry.
func (l *listing) stat() stat {
	switch {
	case l.part == nil:
		return stat{}
	case l.part.kind == kindSymlink:
		return stat{mode: os.ModeSymlink | os.ModePerm, mtime: l.part.stat.mtime}
	}
	return l.part.stat
}

func (l *listing) isDir() bool { return l.part == nil || l.part.kind == kindDirectory }

func asFolder(p string) string {
	if strings.HasSuffix(p, "/") {
		return p
	}
	return p + "/"
}

func below(child, parent string) bool { return strings.HasPrefix(child, asFolder(parent)) }
