package unixfs

import (
	"bytes"
	"context"
	"io"

	"github.com/ipfs/boxo/verifcid"

	"github.com/nodegate/nodegate/internal/budget"
)

// OneFile reads the first file of a multipart body, up to a number of bytes. What it holds
// counts against the hold.
//
// Returns TooLarge for a longer file.
func (o *Objects) OneFile(ctx context.Context, body io.Reader, boundary string, hold *budget.Hold, most int64) ([]byte, error) {
	var content bytes.Buffer
	first := true
	err := o.eachFile(ctx, body, boundary, Limits{}, "expected a regular file", func(r io.Reader) error {
		if !first {
			return nil
		}
		first = false
		held := &heldReader{Reader: io.LimitReader(r, most+1), hold: hold}
		if _, err := content.ReadFrom(held); err != nil {
			return badBody(err)
		}
		if int64(content.Len()) > most {
			return tooLarge("the content is longer than %d bytes", most)
		}
		return nil
	})
	return content.Bytes(), failedBy(err)
}

// AllowedHash tells whether blocks may be named by a hash function.
func AllowedHash(code uint64) bool { return verifcid.DefaultAllowlist.IsAllowed(code) }
