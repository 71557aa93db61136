package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const readLimit = 1000

// readAll reads an answer from text that comes whole, or in single bytes.
func readAll(text string, single bool) (*incoming, error) {
	var src io.Reader = strings.NewReader(text)
	if single {
		src = iotest.OneByteReader(src)
	}
	in := &incoming{src: src}
	err := in.read(readLimit)
	return in, err
}

// accepted are answers that are read, all with the body "{}".
var accepted = map[string]string{
	"a length":               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"no reason":              "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
	"an empty reason":        "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}",
	"a reason in UTF-8":      "HTTP/1.1 200 Schön\r\nContent-Length: 2\r\n\r\n{}",
	"no space after colon":   "HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n{}",
	"space around":           "HTTP/1.1 200 OK\r\nCONTENT-LENGTH: \t2 \r\n\r\n{}",
	"zeros before":           "HTTP/1.1 200 OK\r\nContent-Length: 0002\r\n\r\n{}",
	"other headers":          "HTTP/1.1 200 OK\r\nServer: x\r\nDate: y\r\nContent-Length: 2\r\nX: \r\n\r\n{}",
	"identity":               "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
	"to the end":             "HTTP/1.1 200 OK\r\n\r\n{}",
	"HTTP/1.0":               "HTTP/1.0 200 OK\r\n\r\n{}",
	"HTTP/1.0 with a length": "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"one chunk":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"two chunks":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n{\r\n01\r\n}\r\n000\r\n\r\n",
	"extensions":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\n{}\r\n0;c\r\n\r\n",
	"space after a size":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\n{}\r\n0\r\n\r\n",
	"interim answers":        strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", maxInterim) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"more after it":          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n",
	"more after chunks":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nHTTP/1.1",
	"the most fields":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + strings.Repeat("X: y\r\n", maxFields-1) + "\r\n{}",
}

// refused are answers that are faults, and which.
var refused = map[string]struct {
	text string
	want error
}{
	"nothing":                {"", hungUp},
	"half a head":            {"HTTP/1.1 200 OK\r\nContent-Le", cutShort},
	"a page":                 {"<html></html>", notHTTP},
	"another protocol":       {"SSH-2.0-OpenSSH\r\n", notHTTP},
	"HTTP/2":                 {"HTTP/2 200\r\n\r\n", notHTTP},
	"HTTP/1.2":               {"HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\n{}", notHTTP},
	"lower case":             {"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", notHTTP},
	"a short status":         {"HTTP/1.1 20\r\nContent-Length: 2\r\n\r\n{}", notHTTP},
	"a long status":          {"HTTP/1.1 2000\r\nContent-Length: 2\r\n\r\n{}", badHead},
	"a status of letters":    {"HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n{}", badHead},
	"a small status":         {"HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}", badHead},
	"bare line feeds":        {"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", badHead},
	"a bare line feed":       {"HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\r\n{}", badHead},
	"a bare return":          {"HTTP/1.1 200 OK\r\nX: y\rContent-Length: 2\r\n\r\n{}", badHead},
	"a folded line":          {"HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 2\r\n\r\n{}", badHead},
	"a zero byte":            {"HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 2\r\n\r\n{}", badHead},
	"space before the colon": {"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n{}", badHead},
	"no colon":               {"HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n{}", badHead},
	"no name":                {"HTTP/1.1 200 OK\r\n: 2\r\n\r\n{}", badHead},
	"too many fields":        {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxFields+1) + "\r\n", hugeHead},
	"too large a head":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", maxHead) + "\r\n\r\n", hugeHead},
	"two lengths":            {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", badLength},
	"the same length twice":  {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", badLength},
	"a list of lengths":      {"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}", badLength},
	"a length below zero":    {"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", badLength},
	"a length with plus":     {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}", badLength},
	"an empty length":        {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n{}", badLength},
	"a huge length":          {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}", badLength},
	"length and chunks":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", badLength},
	"chunks and length":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", badLength},
	"chunked twice":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", badLength},
	"gzip, chunked":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", badLength},
	"chunks in HTTP/1.0":     {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", badLength},
	"a body without content": {"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}", badLength},
	"a long body":            {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", ErrTooLarge},
	"a long body to the end": {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat(" ", readLimit+1), ErrTooLarge},
	"long chunks":            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat(" ", readLimit) + "\r\n1\r\n", ErrTooLarge},
	"a cut body":             {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", cutShort},
	"a cut chunk":            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}", cutShort},
	"no last chunk":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", cutShort},
	"half a last chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", cutShort},
	"a wrong chunk":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", badChunk},
	"a chunk in bare feeds":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n" + strings.Repeat(" ", maxChunkLine), badChunk},
	"a chunk of -1":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n", badChunk},
	"a chunk of 0x2":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", badChunk},
	"a chunk of nothing":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n", badChunk},
	"a huge chunk":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", badChunk},
	"a huge extension":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 300) + "\r\n", badChunk},
	"extensions without end": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 200)+"\r\n{\r\n", 100), badChunk},
	"trailers":               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", badChunk},
	"endless interim":        {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxInterim+1), manyInterim},
	"another protocol now":   {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", manyInterim},
}

func TestReadAccepts(t *testing.T) {
	for name, text := range accepted {
		for _, single := range []bool{false, true} {
			if in, err := readAll(text, single); err != nil || string(in.body) != "{}" || in.head.status != 200 {
				t.Errorf("%s (single bytes %v): %q, %v", name, single, in.body, err)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tt := range refused {
		for _, single := range []bool{false, true} {
			if in, err := readAll(tt.text, single); !errors.Is(err, tt.want) {
				t.Errorf("%s (single bytes %v): %q, %v, want %v", name, single, in.body, err, tt.want)
			}
		}
	}
}

func TestHeadFields(t *testing.T) {
	in := func(lines string) head {
		h, err := parseHead([]byte("HTTP/1.1 429 Slow down\r\n" + lines + "Content-Length: 0\r\n\r\n"))
		if err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		return h
	}
	for lines, want := range map[string]time.Duration{
		"": 0, "Retry-After: 7\r\n": 7 * time.Second, "retry-after: 007\r\n": 7 * time.Second, "Retry-After: soon\r\n": 0, "Retry-After: -1\r\n": 0,
		"Retry-After: 999999999\r\n": time.Hour, "Retry-After: Mon, 02 Jan 2006 15:04:05 GMT\r\n": 0,
	} {
		if got := in(lines).retryAfter; got != want {
			t.Errorf("%q: %v, want %v", lines, got, want)
		}
	}
	later := time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat)
	if got := in("Retry-After: " + later + "\r\n").retryAfter; got < 19*time.Minute || got > 20*time.Minute {
		t.Errorf("a date in 20 minutes: %v", got)
	}
	for lines, want := range map[string]time.Duration{
		"": 0, "Keep-Alive: timeout=5, max=100\r\n": 4 * time.Second, "Keep-Alive: max=1,TIMEOUT=2\r\n": time.Second,
		"Keep-Alive: timeout=0\r\n": time.Millisecond, "Keep-Alive: timeout=x\r\n": 0, "Keep-Alive: 5\r\n": 0,
	} {
		if got := in(lines).idle; got != want {
			t.Errorf("%q: %v, want %v", lines, got, want)
		}
	}
	for lines, want := range map[string]bool{
		"": false, "Connection: close\r\n": true, "connection: x, Close\r\n": true, "Connection: keep-alive\r\n": false, "Connection: closed\r\n": false,
	} {
		if got := in(lines).last; got != want {
			t.Errorf("%q: last is %v", lines, got)
		}
	}
	for lines, want := range map[string]bool{"Content-Encoding: gzip\r\n": true, "Content-Encoding: \r\n": false, "Content-Encoding: identity\r\nContent-Encoding: br\r\n": true} {
		if got := in(lines).encoded; got != want {
			t.Errorf("%q: encoded is %v", lines, got)
		}
	}
}

// A header must not make us reserve memory: a large length costs nothing until the
// bytes come.
func TestReadTrustsNoLength(t *testing.T) {
	in := &incoming{src: strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n{}")}
	if err := in.read(defaultAnswer); !errors.Is(err, cutShort) || cap(in.buf) > 2*firstBuffer {
		t.Errorf("%v with a buffer of %d", err, cap(in.buf))
	}
}

func TestReadLarge(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	var chunks strings.Builder
	for i := 0; i < len(body); {
		n := min(1+i%70_001, len(body)-i)
		chunks.WriteString(strconv.FormatInt(int64(n), 16) + "\r\n" + body[i:i+n] + "\r\n")
		i += n
	}
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks.String() + "0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n" + body,
	} {
		in := &incoming{src: iotest.HalfReader(strings.NewReader(text))}
		if err := in.read(int64(len(body))); err != nil || string(in.body) != body {
			t.Errorf("%.60q: %d bytes, %v", text, len(in.body), err)
		}
		if cap(in.buf) > 2*len(text) {
			t.Errorf("%.60q: a buffer of %d", text, cap(in.buf))
		}
	}
}

// FuzzRead holds the reader to net/http's: what it takes, net/http reads as the same
// answer, ending at the same byte.
func FuzzRead(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(accepted)) {
		f.Add([]byte(accepted[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if text := refused[name].text; len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkRead(t, data) })
}

// checkRead reads anything, and reports whether it was taken.
func checkRead(t *testing.T, data []byte) bool {
	t.Helper()
	whole, err := readAll(string(data), false)
	pieces, err2 := readAll(string(data), true)
	if (err == nil) != (err2 == nil) || err == nil && (!bytes.Equal(whole.body, pieces.body) || whole.head != pieces.head) {
		t.Fatalf("whole: %q, %v; in pieces: %q, %v", whole.body, err, pieces.body, err2)
	}
	if err != nil {
		return false
	}
	in := bufio.NewReader(bytes.NewReader(data))
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	for err == nil && resp.StatusCode < 200 {
		resp, err = http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	}
	if err != nil {
		t.Fatalf("net/http refuses it: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("net/http can't read the body: %v", err)
	}
	rest, _ := io.ReadAll(in)
	h := whole.head
	if resp.StatusCode != h.status || !bytes.Equal(body, whole.body) {
		t.Fatalf("net/http reads %d %q, we read %d %q", resp.StatusCode, body, h.status, whole.body)
	}
	if whole.clean != (len(rest) == 0) && !h.last {
		t.Fatalf("net/http leaves %q, we are clean: %v", rest, whole.clean)
	}
	if resp.Close && !h.last {
		t.Fatalf("net/http would close the connection, we would not")
	}
	if kind := resp.Header.Get("Content-Encoding"); h.encoded != (kind != "" && !strings.EqualFold(kind, "identity")) && len(resp.Header["Content-Encoding"]) < 2 {
		t.Fatalf("encoded is %v for %q", h.encoded, kind)
	}
	return true
}

// parts are the parts of an answer, first as they should be and then in forms that
// some client somewhere reads differently.
var parts = struct{ versions, statuses, ends, names, colons, values, bodies []string }{
	versions: []string{"HTTP/1.1 ", "HTTP/1.0 ", "HTTP/1.1", "HTTP/1.1  ", "HTTP/1.1\t", "http/1.1 ", "HTTP/2.0 ", "\r\nHTTP/1.1 "},
	statuses: []string{"200 OK", "200", "204 No Content", "304 Not Modified", "100 Continue", "500 x", "2000", "-20 x", "200OK", " 200 OK"},
	ends:     []string{"\r\n", "\n", "\r", "\r\r\n", "\r\n ", "\r\n\t", "\r\n\r\n", "\n\r\n", ""},
	names: []string{
		"Content-Length", "Transfer-Encoding", "Connection", "Content-Encoding", "Keep-Alive", "Retry-After", "X", "Content-Length ", " Content-Length", "Content_Length",
		"Trailer", "Upgrade", "", "Transfer-Encod\u0131ng",
	},
	colons: []string{": ", ":", ":\t", " : ", "", "::", ": \x00", ":\r\n "},
	values: []string{"2", "0", "chunked", "close", "keep-alive", "", "02", "+2", "2,2", "3", "identity", "gzip", "chunked, identity", "Chunked", "\x0bchunked", "99999999999999999999", "timeout=5"},
	bodies: []string{"{}", "2\r\n{}\r\n0\r\n\r\n", "2\r\n{}\r\n0\r\n", "2;x\r\n{}\r\n0\r\n\r\nmore", "2\n{}\n0\n\n", "02 \r\n{}\r\n00\r\n\r\n", "2\r\n{}x\r\n0\r\n\r\n", "0\r\nX: y\r\n\r\n", "", "{}HTTP/1.1 200 OK\r\n\r\n"},
}

// TestOddAnswers builds answers of such parts, in an order that no mutation of bytes
// would find soon.
func TestOddAnswers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	taken, n := 0, 15_000
	for range n {
		if checkRead(t, []byte(oddAnswer(random))) {
			taken++
		}
	}
	if taken < n/20 || taken > n*3/4 {
		t.Errorf("%d of %d were taken: the parts are badly mixed", taken, n)
	}
}

func oddAnswer(random *rand.Rand) string {
	pick := func(list []string) string {
		if random.IntN(30) > 0 {
			return list[0]
		}
		return list[random.IntN(len(list))]
	}
	one := func(list []string) string { return list[random.IntN(len(list))] }
	text := pick(parts.versions) + pick(parts.statuses) + pick(parts.ends)
	framing := []string{"Content-Length: 2", "Transfer-Encoding: chunked", "X: y"}
	body := random.IntN(len(framing))
	text += framing[body] + pick(parts.ends)
	for range random.IntN(3) {
		text += one(parts.names) + pick(parts.colons) + one(parts.values) + pick(parts.ends)
	}
	return text + pick(parts.ends) + pick([]string{parts.bodies[body&1], one(parts.bodies)})
}
