package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nodegate/nodegate"
)

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// post is a request whose length is announced, or not.
func post(body io.Reader, length int64, encoding string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = length
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	return r
}

// always lets a buffer grow.
func always(int) error { return nil }

// TestReadBodyAsks asks before the buffer grows, and reads no further when it may not.
func TestReadBodyAsks(t *testing.T) {
	const most = 100 << 10
	busy := &nodegate.Error{Code: nodegate.AccountBusy, RetryAfter: time.Second, Msg: "too much"}
	var asked []int
	grow := func(size int) error {
		asked = append(asked, size)
		if size > most {
			return busy
		}
		return nil
	}
	endless := &countingReader{}
	got, err := ReadBody(httptest.NewRecorder(), post(endless, -1, ""), make([]byte, 0, 1000), Reading{Limit: 5 << 20, Grow: grow, Inflate: directly})
	if e := nodegate.AsError(err); e.Code != nodegate.AccountBusy || e.Op != BodyOp || e.RetryAfter != time.Second || busy.Op != "" {
		t.Errorf("refused with %+v", e)
	}
	if asked[0] != 1000 || endless.read > most || cap(got) > most+most/4 {
		t.Errorf("asked for %v, read %d bytes into %d", asked, endless.read, cap(got))
	}
	_, err = ReadBody(httptest.NewRecorder(), post(endless, -1, ""), make([]byte, 0, most+1), Reading{Limit: 5 << 20, Grow: grow, Inflate: directly})
	if !errors.Is(err, nodegate.AccountBusy) {
		t.Errorf("a buffer that is too large already: %v", err)
	}
}

func TestReadBody(t *testing.T) {
	const limit = 1000
	fits := strings.Repeat("x", limit)
	for _, c := range []struct {
		name, body, encoding string
		length               int64
		want                 string
		code                 error
	}{
		{"empty", "", "", 0, "", nil},
		{"short", "abc", "", 3, "abc", nil},
		{"chunked", "abc", "", -1, "abc", nil},
		{"identity", "abc", "identity", 3, "abc", nil},
		{"at the limit", fits, "", limit, fits, nil},
		{"past the limit", fits + "x", "", -1, "", nodegate.TooLarge},
		{"announced past the limit", "", "", limit + 1, "", nodegate.TooLarge},
		{"gzip", packed("abc"), "gzip", -1, "abc", nil},
		{"empty gzip", packed(""), "gzip", -1, "", nil},
		{"gzip at the limit", packed(fits), "gzip", -1, fits, nil},
		{"gzip past the limit", packed(fits + "x"), "gzip", -1, "", nodegate.TooLarge},
		{"gzip bomb", packed(strings.Repeat("x", 1<<20)), "gzip", -1, "", nodegate.TooLarge},
		{"gzip cut off", packed(fits)[:15], "gzip", -1, "", nodegate.InvalidRequest},
		{"not gzip", "abc", "gzip", -1, "", nodegate.InvalidRequest},
		{"no gzip at all", "", "gzip", -1, "", nodegate.InvalidRequest},
		{"unknown encoding", "abc", "deflate", -1, "", nodegate.MediaType},
		{"gzip twice", packed(packed("abc")), "gzip, gzip", -1, "", nodegate.MediaType},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadBody(httptest.NewRecorder(), post(strings.NewReader(c.body), c.length, c.encoding), nil, Reading{Limit: limit, Grow: always, Inflate: directly})
			if c.code != nil {
				if !errors.Is(err, c.code) {
					t.Errorf("error %v, want %v", err, c.code)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("%d bytes (%v), want %d", len(got), err, len(c.want))
			}
		})
	}
}

// TestReadBodyAppends keeps what the buffer holds and counts only what is read.
func TestReadBodyAppends(t *testing.T) {
	got, err := ReadBody(httptest.NewRecorder(), post(iotest.OneByteReader(strings.NewReader("56789")), -1, ""), []byte("01234"), Reading{Limit: 5, Grow: always, Inflate: directly})
	if err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestReadBodyStops reads no further than a byte past the limit, however much comes.
func TestReadBodyStops(t *testing.T) {
	endless := &countingReader{}
	_, err := ReadBody(httptest.NewRecorder(), post(endless, -1, ""), make([]byte, 0, 64), Reading{Limit: 1000, Grow: always, Inflate: directly})
	if !errors.Is(err, nodegate.TooLarge) || endless.read > 4096 {
		t.Errorf("read %d bytes: %v", endless.read, err)
	}
}

type countingReader struct{ read int }

func (r *countingReader) Read(b []byte) (int, error) {
	r.read += len(b)
	return len(b), nil
}

func TestReadBodyEndsEarly(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := ReadBody(httptest.NewRecorder(), post(broken, 10, ""), nil, Reading{Limit: 1000, Grow: always, Inflate: directly}); !errors.Is(err, nodegate.InvalidRequest) {
		t.Errorf("error %v", err)
	}
}

// directly runs the work of inflating.
func directly(work func()) error { work(); return nil }

// TestInflateEnds: a gzip that gets no turn is refused with the reason, and not inflated.
func TestInflateEnds(t *testing.T) {
	ended := &nodegate.Error{Code: nodegate.Timeout, Op: "test"}
	got, err := ReadBody(httptest.NewRecorder(), post(bytes.NewReader(zipped(t, 2*InflateFrom)), -1, "gzip"), nil, Reading{
		Limit: 1 << 20, Grow: always, Inflate: func(func()) error { return ended },
	})
	if e := nodegate.AsError(err); e.Code != nodegate.Timeout || e.Op != BodyOp || ended.Op == BodyOp || len(got) > InflateFrom+1 {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}

// TestInflate: a gzip that becomes large is inflated where its caller wants that, whole or
// up to the limit, and its bytes are reserved.
func TestInflate(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		name   string
		size   int
		large  int // times that the work is handed over
		refuse bool
	}{
		{"small", 1000, 0, false}, {"at the step", InflateFrom, 0, false}, {"beyond the step", InflateFrom + 1, 1, false},
		{"at the limit", limit, 1, false}, {"beyond the limit", limit + 1, 1, true}, {"a bomb", 100 << 20, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			handed, most := 0, 0
			got, err := ReadBody(httptest.NewRecorder(), post(bytes.NewReader(zipped(t, c.size)), -1, "gzip"), []byte("ab"), Reading{
				Limit: limit, Grow: func(size int) error { most = max(most, size); return nil },
				Inflate: func(work func()) error { handed++; work(); return nil },
			})
			if handed != c.large || errors.Is(err, nodegate.TooLarge) != c.refuse {
				t.Fatalf("handed over %d times, %v", handed, err)
			}
			if !c.refuse && len(got) != 2+c.size {
				t.Errorf("%d bytes, want %d", len(got)-2, c.size)
			}
			if most < min(c.size, limit) || most > 2*limit {
				t.Errorf("%d bytes were reserved", most)
			}
			if c.refuse && !strings.Contains(err.Error(), "at most 1048576 bytes") {
				t.Error(err)
			}
		})
	}
}

func zipped(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, io.LimitReader(zeros{}, int64(size))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
