package gateway

import (
	"context"
	"net/http"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// slashed is a CID as dag-json writes it.
type slashed struct {
	Text string `json:"/"`
}

// dagGet sends a value.
func dagGet(ctx context.Context, c *call) error {
	codec, _ := c.query.String("dag-json", "output-codec")
	if err := c.query.Err(); err != nil {
		return err
	}
	data, err := c.gateway.objects.DagGet(ctx, c.args[0], codec)
	if err != nil {
		return err
	}
	c.answer.bytes("text/plain", int64(len(data)))
	c.answer.Header().Del("X-Content-Length") // Kubo has it where it is known before the bytes are
	_, err = c.answer.Write(data)
	return err
}

// dagPut stores values.
func dagPut(ctx context.Context, c *call) error {
	opts, err := unixfs.ParseDagPut(c.query, c.gateway.cfg.Limits)
	if err != nil {
		return err
	}
	encoder := unixfs.ParseEncoder(c.query)
	return c.put(ctx, opts, c.gateway.objects.DagPut, func(p unixfs.Put) any {
		return struct{ Cid slashed }{slashed{encoder.Encode(p.CID)}}
	})
}

// dagResolve follows a path.
func dagResolve(ctx context.Context, c *call) error {
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	r, err := c.gateway.objects.Resolve(ctx, c.args[0])
	if err != nil {
		return err
	}
	return c.answer.object(struct {
		Cid     slashed
		RemPath string
	}{slashed{encoder.Encode(r.CID)}, r.RestPath()})
}

// dagImport stores what CARs hold.
func dagImport(ctx context.Context, c *call) error {
	opts, err := unixfs.ParseImport(c.query, c.gateway.cfg.Limits)
	if err != nil {
		return err
	}
	encoder := unixfs.ParseEncoder(c.query)
	body, boundary, err := c.multipart()
	if err != nil {
		return err
	}
	batch := c.begin()
	defer batch.Abort()
	imported, err := c.gateway.objects.Import(ctx, batch, body, boundary, opts)
	if err != nil {
		return err
	}
	if err := c.endBody(); err != nil {
		return err
	}
	if err := batch.Commit(ctx); err != nil {
		return err
	}
	return c.sendImported(imported, opts, encoder.Encode)
}

func (c *call) sendImported(imported *unixfs.Imported, opts *unixfs.ImportOptions, encode func(cid.Cid) string) error {
	type root struct {
		Cid         slashed
		PinErrorMsg string
	}
	type stats struct{ BlockCount, BlockBytesCount int64 }
	out := c.answer.stream()
	if opts.PinRoots {
		for _, r := range imported.Roots {
			if err := out.send(struct{ Root root }{root{slashed{encode(r.CID)}, r.PinError}}); err != nil {
				return err
			}
		}
	}
	if opts.Stats {
		return out.send(struct{ Stats stats }{stats{imported.Blocks, imported.Bytes}})
	}
	if !c.answer.begun {
		c.answer.WriteHeader(http.StatusOK)
	}
	return nil
}

// dagExport sends a CAR.
func dagExport(ctx context.Context, c *call) error {
	export, err := c.gateway.objects.Export(ctx, c.args[0], c.gateway.cfg.Limits)
	if err != nil {
		return err
	}
	c.answer.head("application/vnd.ipld.car").Set("X-Stream-Output", "1")
	return export.Write(ctx, c.answer)
}
