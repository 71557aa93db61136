package fastpath

import "bytes"

// Request is a plain POST. Its slices point into the connection's buffer and are
// valid until the handler returns.
type Request struct {
	Path       []byte
	Host       []byte
	Body       []byte
	HasOrigin  bool // the request comes from a page in a browser
	AcceptGzip bool
}

// verdict is what the parser says of the bytes so far.
type verdict uint8

const (
	plain    verdict = iota // a whole plain request
	bodyMore                // a plain head, and a body of which a part is missing
	notMine                 // anything else
)

// Bounds of what is taken: more goes to net/http, which has its own.
const (
	maxHead = 8 << 10
	maxBody = 48 << 10
)

var (
	requestStart = []byte("POST /")
	versionEnd   = []byte(" HTTP/1.1\r\n")
	lineEnd      = []byte("\r\n")
)

// parse reads one request from the start of b. With plain and bodyMore, size is
// the length of the whole request.
func parse(b []byte, r *Request) (v verdict, size int) {
	*r = Request{}
	if !bytes.HasPrefix(b, requestStart) {
		return notMine, 0
	}
	line := bytes.Index(b, lineEnd)
	if line < 0 {
		return notMine, 0
	}
	path, ok := bytes.CutSuffix(b[len("POST "):line+len(lineEnd)], versionEnd)
	if !ok || !plainPath(path) {
		return notMine, 0
	}
	r.Path = path
	length, head, ok := parseHeaders(b, line+len(lineEnd), r)
	if !ok {
		return notMine, 0
	}
	size = head + length
	if len(b) < size {
		return bodyMore, size
	}
	r.Body = b[head:size]
	return plain, size
}

// plainPath takes paths that mean themselves: no escapes, no query, no dots that
// something might resolve.
func plainPath(p []byte) bool {
	for _, c := range p {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '/' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// parseHeaders reads the header lines from at. It returns the body's length and
// where the body begins.
func parseHeaders(b []byte, at int, r *Request) (length, head int, ok bool) {
	var seen headerSet
	for {
		end := bytes.Index(b[at:], lineEnd)
		if end < 0 || at+end > maxHead {
			return 0, 0, false
		}
		if end == 0 {
			return seen.length, at + len(lineEnd), seen.complete()
		}
		if !seen.take(b[at:at+end], r) {
			return 0, 0, false
		}
		at += end + len(lineEnd)
	}
}

// headerSet notes the headers that must be there exactly once.
type headerSet struct {
	host, kind, sized bool
	length            int
}

func (s *headerSet) complete() bool { return s.host && s.kind && s.sized }

// take reads one header line. Only known headers in their plain form pass.
func (s *headerSet) take(line []byte, r *Request) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !plainValue(line[colon+1:]) {
		return false
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	switch {
	case is(name, "host"):
		return once(&s.host) && s.setHost(value, r)
	case is(name, "content-type"):
		return once(&s.kind) && string(value) == "application/json"
	case is(name, "content-length"):
		return once(&s.sized) && s.setLength(value)
	case is(name, "connection"):
		return is(value, "keep-alive")
	case is(name, "origin"):
		r.HasOrigin = true
		return len(value) > 0
	case is(name, "accept-encoding"):
		return s.setEncoding(value, r)
	}
	return harmless(name)
}

func once(seen *bool) bool {
	first := !*seen
	*seen = true
	return first
}

func (s *headerSet) setHost(value []byte, r *Request) bool {
	r.Host = value
	for _, c := range value {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':' {
			return false
		}
	}
	return len(value) > 0
}

func (s *headerSet) setLength(value []byte) bool {
	if len(value) == 0 || len(value) > 6 {
		return false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		s.length = 10*s.length + int(c-'0')
	}
	return s.length <= maxBody
}

// setEncoding understands lists of bare names; weights are for net/http's side.
func (s *headerSet) setEncoding(value []byte, r *Request) bool {
	for part := range bytes.SplitSeq(value, []byte(",")) {
		name := bytes.TrimSpace(part)
		if bytes.IndexByte(name, ';') >= 0 {
			return false
		}
		if is(name, "gzip") {
			r.AcceptGzip = true
		}
	}
	return true
}

// harmless are headers that change nothing about how a call is answered.
func harmless(name []byte) bool {
	switch len(name) {
	case len("accept"):
		return is(name, "accept") || is(name, "pragma")
	case len("user-agent"):
		return is(name, "user-agent")
	case len("accept-language"):
		return is(name, "accept-language")
	case len("referer"):
		return is(name, "referer")
	case len("cache-control"):
		return is(name, "cache-control")
	}
	return len(name) > 10 && is(name[:10], "sec-fetch-") && plainToken(name)
}

func plainToken(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return true
}

// plainValue takes visible ASCII, spaces and tabs.
func plainValue(value []byte) bool {
	for _, c := range value {
		if (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// is compares with a lower-case word, ignoring ASCII case.
func is(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
