package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// CompressFrom is the smallest answer that compression makes cheaper to send.
const CompressFrom = 1400

var gzipWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a constant
	return z
}}

// AcceptsGzip reads Accept-Encoding: gzip is named and not with q=0.
func AcceptsGzip(h http.Header) bool {
	for _, value := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q := strings.TrimSpace(params)
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}

// Gzip appends body, compressed, to dst.
func Gzip(dst, body []byte) []byte {
	out := bytes.NewBuffer(dst)
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(out)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
