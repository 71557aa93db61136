package gateway

import (
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

// valuePage is what a page shows of a value.
type valuePage struct{ CID, Codec, Size string }

// showValue sends a page about a value. The number in its tag changes with the page.
func (r *reading) showValue(e *unixfs.Entity) error {
	id, codec := r.found.CID.String(), codecName(r.found.CID.Type())
	if r.pageHead(`"DagIndex-2_CID-` + id + `"`) {
		return nil
	}
	plain := strings.TrimPrefix(codec, "dag-")
	return r.sendPage(page{
		Heading: "Value", Forms: []form{{"View as " + codec, codec}, {"View as " + plain, plain}, {"Download block", "raw"}},
		Value: &valuePage{id, codec, sizeText(uint64(e.Size))},
	})
}
