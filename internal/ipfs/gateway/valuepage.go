package gateway

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/multiformats/go-multicodec"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// wantsPage tells a browser that shows a value to people from a program that reads it.
func (r *reading) wantsPage() bool {
	switch multicodec.Code(r.found.CID.Type()) {
	case multicodec.DagJson, multicodec.DagCbor:
		return r.format == "" && strings.Contains(r.req.Header.Get("Accept"), "text/html")
	}
	return false
}

// valuePage sends a page about a value. Its number changes with the page.
func (r *reading) valuePage(e *unixfs.Entity) error {
	id := r.found.CID.String()
	tag := `"DagIndex-1_CID-` + id + `"`
	if r.unchanged(tag, forAWeek) {
		return nil
	}
	var page bytes.Buffer
	codec := codecName(r.found.CID.Type())
	err := valueTemplate.Execute(&page, map[string]any{
		"Path": strings.TrimSuffix(r.text, "/"), "CID": id, "Codec": codec, "Plain": strings.TrimPrefix(codec, "dag-"), "Size": sizeText(uint64(e.Size)),
	})
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", r.cacheControl(forAWeek))
	h.Set("Content-Type", "text/html")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	if r.req.Method == http.MethodHead {
		r.answer.WriteHeader(http.StatusOK)
		return nil
	}
	_, err = r.answer.Write(page.Bytes())
	return err
}

// valueTemplate works without scripts, which the sandbox forbids.
var valueTemplate = template.Must(template.New("value").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Path}}</title>
<style>
body { font-family: sans-serif; margin: 1em auto; max-width: 60em; padding: 0 1em; }
h1 { font-size: 1.1em; overflow-wrap: anywhere; }
dd { overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>{{.Path}}</h1>
<dl>
<dt>CID</dt><dd>{{.CID}}</dd>
<dt>Codec</dt><dd>{{.Codec}}</dd>
<dt>Size</dt><dd>{{.Size}}</dd>
</dl>
<p><a href="?format={{.Codec}}">View as {{.Codec}}</a> · <a href="?format={{.Plain}}">View as {{.Plain}}</a> · <a href="?format=raw">Download block</a></p>
</body>
</html>
`))
