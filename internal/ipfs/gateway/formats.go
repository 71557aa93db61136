package gateway

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/multiformats/go-multicodec"
)

// The forms besides plain content.
const (
	formatRaw     = "application/vnd.ipld.raw"
	formatCAR     = "application/vnd.ipld.car"
	formatTAR     = "application/x-tar"
	formatDagJSON = "application/vnd.ipld.dag-json"
	formatDagCBOR = "application/vnd.ipld.dag-cbor"
	formatJSON    = "application/json"
	formatCBOR    = "application/cbor"
)

// formats are the names of the forms in queries.
var formats = map[string]string{
	"raw": formatRaw, "car": formatCAR, "tar": formatTAR,
	"dag-json": formatDagJSON, "dag-cbor": formatDagCBOR, "json": formatJSON, "cbor": formatCBOR,
}

func isFormat(kind string) bool {
	for _, f := range formats {
		if f == kind {
			return true
		}
	}
	return false
}

// checkCodec refuses to convert: a block is sent as it is, and so must have the codec that
// is asked for. Files may hold JSON or CBOR, whatever their blocks are.
func checkCodec(format string, code uint64) error {
	codec := multicodec.Code(code)
	file := codec == multicodec.DagPb || codec == multicodec.Raw
	fits := true
	switch format {
	case formatDagJSON:
		fits = codec == multicodec.DagJson
	case formatDagCBOR:
		fits = codec == multicodec.DagCbor
	case formatJSON:
		fits = file || codec == multicodec.Json || codec == multicodec.DagJson
	case formatCBOR:
		fits = file || codec == multicodec.Cbor || codec == multicodec.DagCbor
	}
	if fits {
		return nil
	}
	return usageError("the content is " + codec.String() + " and is not converted: ask for format=raw or for no format, or use the command dag/get with output-codec")
}

// valueFormat is the content type of a block that is no file.
func (r *reading) valueFormat() string {
	if r.format != "" {
		return r.format
	}
	name := codecName(r.found.CID.Type())
	if known := formats[name]; known != "" {
		return known
	}
	return "application/vnd.ipld." + name
}

// formatSuffix tells forms of the same content apart in tags and names of files.
func formatSuffix(kind string) string {
	return strings.TrimPrefix(strings.TrimPrefix(kind, "application/"), "vnd.ipld.")
}

// onlyCached tells whether a client wants nothing that is not here yet.
func onlyCached(h http.Header) bool {
	return strings.Contains(strings.ToLower(h.Get("Cache-Control")), "only-if-cached")
}

// tarBuffer is how much of an archive is kept back, so that what is wrong with a small one is
// still answered as an error.
const tarBuffer = 64 << 10

// tar sends a file or a directory as a tar.
func (r *reading) tar(short context.Context) error {
	name := r.found.CID.String()
	tag := `W/"` + name + `.x-tar"`
	if r.unchanged(tag, forGood) {
		return nil
	}
	tree, err := r.gateway.objects.Get(short, name)
	if err != nil {
		return err
	}
	r.setDisposition(r.downloadName(name+".tar"), true)
	h := r.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", r.gateway.cacheControl(forGood))
	h.Set("Content-Type", formatTAR)
	h.Set("Accept-Ranges", "none")
	if r.req.Method == http.MethodHead {
		r.answer.WriteHeader(http.StatusOK)
		return nil
	}
	return keptBack(r.answer, func(w io.Writer) error { return tree.WriteTar(r.req.Context(), w, true) })
}

// keptBack writes an archive, and nothing of one that ends with an error before the buffer
// is full.
func keptBack(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriterSize(w, tarBuffer)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}
