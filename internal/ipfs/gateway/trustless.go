package gateway

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/multiformats/go-multicodec"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// codecName is the name of a codec in content types.
func codecName(code uint64) string { return multicodec.Code(code).String() }

// block sends one block, which a client can check against its CID.
func (r *reading) block(short context.Context) error {
	name := r.found.CID.String()
	data, err := r.found.Block(short)
	if err != nil {
		return err
	}
	r.setDisposition(r.downloadName(name+".bin"), true)
	return r.show(shown{tag: `"` + name + `.raw"`, kind: formatRaw, size: int64(len(data)), send: func(from, length int64) error {
		_, err := r.answer.Write(data[from : from+length])
		return err
	}})
}

func (r *reading) downloadName(preset string) string {
	if name := r.req.URL.Query().Get("filename"); name != "" {
		return name
	}
	return preset
}

// car sends a CAR with the blocks on the way to what was found, and of that as much
// as was asked for: a client can check all of it against the CID in the address.
func (r *reading) car(short context.Context) error {
	options, err := r.carOptions()
	if err != nil {
		return err
	}
	root, name := r.found.Roots[0].String(), r.found.Roots[0].String()
	if len(r.found.Roots) > 1 {
		name += "_" + path.Base(r.text)
	}
	form := sha256.Sum256(fmt.Append(nil, strings.TrimSuffix(r.text, "/"), options))
	tag := fmt.Sprintf(`W/"%s.car.%x"`, root, form[:8])
	if r.unchanged(tag, forGood) {
		return nil
	}
	export, err := r.found.Export(short, options)
	if err != nil {
		return timedOut(err)
	}
	r.setDisposition(r.downloadName(name+".car"), true)
	h := r.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", r.gateway.cacheControl(forGood))
	h.Set("Content-Type", formatCAR+"; version=1; order=dfs; dups="+map[bool]string{true: "y", false: "n"}[options.Duplicates])
	h.Set("Accept-Ranges", "none")
	if r.req.Method == http.MethodHead {
		r.answer.WriteHeader(http.StatusOK)
		return nil
	}
	return export.Write(r.req.Context(), r.answer)
}

// carOptions reads what a CAR shall have. Parameters of the query go before those of
// the Accept header.
func (r *reading) carOptions() (o unixfs.ExportOptions, err error) {
	q := r.req.URL.Query()
	get := func(name string) string {
		if v := q.Get("car-" + name); v != "" {
			return v
		}
		return r.params[name]
	}
	switch get("version") {
	case "", "1":
	default:
		return o, usageError("unsupported application/vnd.ipld.car version: only version=1 is supported")
	}
	switch get("order") {
	case "", "dfs", "unk":
	default:
		return o, usageError("unsupported application/vnd.ipld.car order parameter")
	}
	switch get("dups") {
	case "", "n":
	case "y":
		o.Duplicates = true
	default:
		return o, usageError("unsupported application/vnd.ipld.car dups parameter")
	}
	scopes := map[string]unixfs.Scope{"all": unixfs.ScopeAll, "entity": unixfs.ScopeEntity, "block": unixfs.ScopeBlock}
	if q.Has("dag-scope") {
		var known bool
		if o.Scope, known = scopes[q.Get("dag-scope")]; !known {
			return o, usageError("unsupported application/vnd.ipld.car scope parameter")
		}
	}
	if q.Has("entity-bytes") {
		o.Bytes, err = parseBytes(q.Get("entity-bytes"))
	}
	o.Limits = r.gateway.cfg.Limits
	return o, err
}

// parseBytes reads from:to, where to may be a star for the end.
func parseBytes(text string) (s unixfs.ByteSpan, err error) {
	const refused = "invalid application/vnd.ipld.car entity-bytes URL parameter: "
	from, to, found := strings.Cut(text, ":")
	if !found {
		return s, usageError(refused + "range must have two numbers separated with ':'")
	}
	if s.From, err = strconv.ParseInt(from, 10, 64); err != nil {
		return s, usageError(refused + "not a number: " + strconv.Quote(from))
	}
	if to == "*" {
		return s, nil
	}
	s.Bounded = true
	if s.To, err = strconv.ParseInt(to, 10, 64); err != nil {
		return s, usageError(refused + "not a number: " + strconv.Quote(to))
	}
	if s.From > s.To && (s.From < 0) == (s.To < 0) {
		return s, usageError(refused + "cannot have an entity-bytes range where 'from' is after 'to'")
	}
	return s, nil
}
