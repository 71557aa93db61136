package gateway

import "github.com/nodegate/nodegate/internal/ipfs/unixfs"

// downloadBytes is what sending a file takes: a block of the default size and the next.
// Readers reserve themselves what larger ones take.
const downloadBytes = 2 * unixfs.DefaultChunk

// holdDownload reserves that before the answer begins.
func (c *call) holdDownload() error { return c.hold.Grow(downloadBytes) }

// holdRead opens the hold of a reader, who has an account only where keys are asked for.
func (r *reading) holdRead() error {
	account := ""
	if r.grant != nil {
		account = r.grant.AccountID
	}
	r.hold = r.gateway.cfg.Memory.Hold(account)
	return r.holdDownload()
}

// holdBody reserves the buffer that an upload's body is read through. It comes first, so
// that an upload there is no memory for is refused before anything is read.
func (c *call) holdBody() error { return c.hold.Grow(unixfs.BodyBuffer) }
