package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// cat sends the content of files, one after the other.
func cat(ctx context.Context, c *call) error {
	span := unixfs.Span{ToEnd: true}
	span.Offset, _ = c.query.Int64(0, "offset", "o")
	if length, given := c.query.Int64(0, "length", "l"); given {
		span.Length, span.ToEnd = length, false
	}
	if err := c.query.Err(); err != nil {
		return err
	}
	content, err := c.gateway.objects.Cat(ctx, c.args, span)
	if err != nil {
		return err
	}
	defer content.Close()
	tag := tagOf(content, span)
	if span.ToEnd && span.Offset == 0 && hasTag(c.req.Header.Get("If-None-Match"), tag) {
		c.answer.Header().Set("ETag", tag)
		c.answer.WriteHeader(http.StatusNotModified)
		return nil
	}
	status := http.StatusOK
	if part, ok := wantedRange(c.req.Header, content.Size(), tag); ok && span.ToEnd && span.Offset == 0 {
		content.Close()
		if content, err = c.gateway.objects.Cat(ctx, c.args, part.span()); err != nil {
			return err
		}
		defer content.Close()
		c.answer.Header().Set("Content-Range", part.String())
		status = http.StatusPartialContent
	}
	c.answer.bytes("text/plain", content.Size())
	c.answer.Header().Set("ETag", tag)
	c.answer.Header()["Accept-Ranges"] = inBytes
	c.answer.WriteHeader(status)
	_, err = content.WriteTo(c.answer)
	return err
}

// tagOf names the content: it never changes.
func tagOf(content *unixfs.Content, span unixfs.Span) string {
	var names []string
	for _, id := range content.CIDs() {
		names = append(names, id.String())
	}
	if !span.ToEnd || span.Offset > 0 {
		names = append(names, spanName(span))
	}
	return `"` + strings.Join(names, "+") + `"`
}

// byteRange is one part of some content.
type byteRange struct{ from, to, size int64 } // to is the last byte

func (r byteRange) span() unixfs.Span {
	return unixfs.Span{Offset: r.from, Length: r.to - r.from + 1}
}

func (r byteRange) String() string { return fmt.Sprintf("bytes %d-%d/%d", r.from, r.to, r.size) }

// wantedRange reads a Range header of one part that can be given. Any other is
// ignored and all is sent, which HTTP allows and Kubo does; so is one for other
// content than what is here.
func wantedRange(h http.Header, size int64, tag string) (r byteRange, ok bool) {
	if of := h.Get("If-Range"); of != "" && of != tag {
		return r, false
	}
	text, ok := strings.CutPrefix(h.Get("Range"), "bytes=")
	if !ok {
		return r, false
	}
	r, ok = parseRange(text, size)
	return r, ok && r.from < size && r.from <= r.to
}

// parseRange reads one part: from-to, from- or -last. It may lie beyond the content.
func parseRange(text string, size int64) (r byteRange, ok bool) {
	from, to, found := strings.Cut(text, "-")
	first, last, ok := int64(0), int64(0), found
	if from != "" {
		first, ok = digits(from)
	}
	if to != "" && ok {
		last, ok = digits(to)
	}
	r = byteRange{from: first, to: size - 1, size: size}
	switch {
	case !ok || from == "" && to == "" || from != "" && to != "" && last < first:
		return r, false
	case from == "": // the last so many
		r.from = max(0, size-last)
	case to != "":
		r.to = min(last, size-1)
	}
	return r, true
}

// digits reads a number without a sign.
func digits(text string) (n int64, ok bool) {
	u, err := strconv.ParseUint(text, 10, 63)
	return int64(u), err == nil
}

// spanName tells parts of the same content apart.
func spanName(s unixfs.Span) string {
	if s.ToEnd {
		return fmt.Sprintf("%d-", s.Offset)
	}
	return fmt.Sprintf("%d-%d", s.Offset, s.Length)
}
