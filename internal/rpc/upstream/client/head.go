package client

import (
	"bytes"
	"net/http"
	"time"
)

// Bounds of an answer's head.
const (
	maxHead    = 64 << 10
	maxFields  = 100
	maxInterim = 5
)

// toClose is the length of a body that ends with the connection.
const toClose = -1

// head is what an answer's head says.
type head struct {
	status     int
	length     int64 // of the body, or toClose
	chunked    bool
	last       bool          // the connection ends with this answer
	encoded    bool          // the body is compressed
	gzipped    bool          // in gzip, once
	idle       time.Duration // how long the node keeps an idle connection; 0 when it doesn't say
	retryAfter time.Duration
}

var (
	lineEnd   = []byte("\r\n")
	headEnd   = []byte("\r\n\r\n")
	protoName = []byte("HTTP/1.")
)

// parseHead reads a whole head, with the empty line that ends it. What it takes,
// net/http takes too and reads alike.
func parseHead(b []byte) (head, error) {
	line, rest, _ := bytes.Cut(b, lineEnd)
	f := fields{head: head{length: toClose}}
	if err := f.statusLine(line); err != nil {
		return head{}, err
	}
	for n := 0; ; n++ {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		if len(line) == 0 {
			return f.settle()
		}
		if n == maxFields {
			return head{}, hugeHead
		}
		if err := f.line(line); err != nil {
			return head{}, err
		}
	}
}

// fields gathers what the lines of a head say.
type fields struct {
	head
	old   bool // HTTP/1.0
	sized bool
}

// statusLine reads "HTTP/1.1 200 OK".
func (f *fields) statusLine(line []byte) error {
	const start = len("HTTP/1.1 200")
	if len(line) < start || !bytes.HasPrefix(line, protoName) || line[8] != ' ' || line[7] != '0' && line[7] != '1' {
		return notHTTP
	}
	if len(line) > start && line[start] != ' ' || !isValue(line[start:]) {
		return badHead
	}
	f.old = line[7] == '0'
	for _, c := range line[9:start] {
		if c < '0' || c > '9' {
			return badHead
		}
		f.status = 10*f.status + int(c-'0')
	}
	if f.status < 100 {
		return badHead
	}
	return nil
}

func (f *fields) line(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !isToken(line[:colon]) || !isValue(line[colon+1:]) {
		return badHead
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch len(name) { // most lines are none of ours, and this tells soonest
	case len("connection"), len("retry-after"), len("content-length"), len("transfer-encoding"), len("content-encoding"):
		return f.field(name, value)
	}
	return nil
}

func (f *fields) field(name, value []byte) error {
	switch {
	case is(name, "content-length"):
		return f.setLength(value)
	case is(name, "transfer-encoding"):
		if f.chunked || f.old || !is(value, "chunked") {
			return badLength
		}
		f.chunked = true
	case is(name, "content-encoding"):
		f.setEncoding(value)
	case is(name, "connection"):
		f.setConnection(value)
	case is(name, "keep-alive"):
		f.setIdle(value)
	case is(name, "retry-after"):
		f.setRetryAfter(value)
	}
	return nil
}

func (f *fields) setLength(value []byte) error {
	n, ok := decimal(value)
	if f.sized || !ok {
		return badLength
	}
	f.sized, f.length = true, n
	return nil
}

func (f *fields) setEncoding(value []byte) {
	if len(value) == 0 || is(value, "identity") {
		return
	}
	f.gzipped = !f.encoded && (is(value, "gzip") || is(value, "x-gzip"))
	f.encoded = true
}

func (f *fields) setConnection(value []byte) {
	for part := range bytes.SplitSeq(value, []byte(",")) {
		if is(bytes.Trim(part, " \t"), "close") {
			f.last = true
		}
	}
}

// setIdle reads "timeout=5, max=100". The node's clock started before ours, so a
// second is taken off.
func (f *fields) setIdle(value []byte) {
	for part := range bytes.SplitSeq(value, []byte(",")) {
		name, number, _ := bytes.Cut(bytes.Trim(part, " \t"), []byte("="))
		if n, ok := decimal(number); ok && is(name, "timeout") {
			f.idle = max(time.Duration(min(n, 3600))*time.Second-time.Second, time.Millisecond)
		}
	}
}

// setRetryAfter reads seconds or a date, and believes an hour at most.
func (f *fields) setRetryAfter(value []byte) {
	const most = time.Hour
	if n, ok := decimal(value); ok {
		f.retryAfter = time.Duration(min(n, int64(most/time.Second))) * time.Second
		return
	}
	if at, err := http.ParseTime(string(value)); err == nil {
		f.retryAfter = min(max(time.Until(at), 0), most)
	}
}

// settle decides how the body is framed.
func (f *fields) settle() (head, error) {
	if f.chunked && f.sized {
		return head{}, badLength
	}
	if f.status < 200 || f.status == http.StatusNoContent || f.status == http.StatusNotModified {
		if f.chunked || f.length > 0 {
			return head{}, badLength
		}
		f.length = 0
	}
	f.last = f.last || f.old || f.length == toClose && !f.chunked
	return f.head, nil
}

// decimal reads plain digits.
func decimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
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

// isToken takes the characters of a header's name.
func isToken(name []byte) bool {
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		case bytes.IndexByte([]byte("!#$%&'*+^`|~"), c) >= 0:
		default:
			return false
		}
	}
	return true
}

// isValue takes what may stand in a header's value: no control characters but tabs.
func isValue(value []byte) bool {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
