package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multicodec"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// How much multibase commands take. Bases that are no power of two take the square of it.
const (
	maxBaseBytes = 256 << 10
	maxSlowBytes = 4 << 10
	baseMemory   = 4 << 20 // base2 writes eight characters for a byte, and answers are copied
)

// codeName is a line of the lists of bases, codecs and hash functions.
type codeName struct {
	Code int
	Name string
}

// sendCodes answers a list in the order of codes; Kubo's has none.
func sendCodes(c *call, list []codeName) error {
	slices.SortFunc(list, func(a, b codeName) int { return cmp.Compare(a.Code, b.Code) })
	return c.answer.object(list)
}

// listBases lists the bases that CIDs can be written in.
func listBases(_ context.Context, c *call) error {
	var list []codeName
	for code, name := range multibase.EncodingToStr {
		list = append(list, codeName{int(code), name})
	}
	return sendCodes(c, list)
}

// listCodecs lists the codecs of blocks; with supported, those that can be looked into.
func listCodecs(_ context.Context, c *call) error {
	supported := c.query.Flag("supported", "s")
	if err := c.query.Err(); err != nil {
		return err
	}
	var list []codeName
	for _, code := range multicodec.KnownCodes() {
		if code.Tag() == "ipld" && (!supported || unixfs.KnowsCodec(uint64(code))) {
			list = append(list, codeName{int(code), code.String()})
		}
	}
	return sendCodes(c, list)
}

// listHashes lists the hash functions that blocks may be named by.
func listHashes(_ context.Context, c *call) error {
	var list []codeName
	for code, name := range multihash.Codes {
		if unixfs.AllowedHash(code) {
			list = append(list, codeName{int(code), name})
		}
	}
	return sendCodes(c, list)
}

// baseEncode writes bytes as text.
func baseEncode(ctx context.Context, c *call) error {
	encoder, err := baseOption(c)
	if err != nil {
		return err
	}
	data, err := baseFile(ctx, c)
	if err != nil {
		return err
	}
	return sendEncoded(c, encoder, data)
}

// baseDecode reads bytes from text.
func baseDecode(ctx context.Context, c *call) error {
	data, err := decodedFile(ctx, c)
	if err != nil {
		return err
	}
	return sendBytes(c, data)
}

// baseTranscode writes text in another base.
func baseTranscode(ctx context.Context, c *call) error {
	encoder, err := baseOption(c)
	if err != nil {
		return err
	}
	data, err := decodedFile(ctx, c)
	if err != nil {
		return err
	}
	return sendEncoded(c, encoder, data)
}

func baseOption(c *call) (multibase.Encoder, error) {
	name, _ := c.query.String("base64url", "b")
	if err := c.query.Err(); err != nil {
		return multibase.Encoder{}, err
	}
	encoder, err := multibase.EncoderByName(name)
	if err != nil {
		return encoder, failed(err.Error())
	}
	return encoder, nil
}

// baseFile reads the file of a request to its end.
func baseFile(ctx context.Context, c *call) ([]byte, error) {
	body, boundary, err := c.multipart()
	if err != nil {
		return nil, err
	}
	if err := c.hold.Grow(baseMemory); err != nil {
		return nil, err
	}
	data, err := c.gateway.objects.OneFile(ctx, body, boundary, &c.hold, maxBaseBytes)
	if err != nil {
		return nil, err
	}
	return data, c.endBody()
}

func decodedFile(ctx context.Context, c *call) ([]byte, error) {
	text, err := baseFile(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(text) > 0 {
		if err := checkSlow(multibase.Encoding(text[0]), len(text)); err != nil {
			return nil, err
		}
	}
	_, data, err := multibase.Decode(string(text))
	if err != nil {
		return nil, failed("failed to decode multibase: " + err.Error())
	}
	return data, nil
}

func sendEncoded(c *call, encoder multibase.Encoder, data []byte) error {
	if err := checkSlow(encoder.Encoding(), len(data)); err != nil {
		return err
	}
	return sendBytes(c, []byte(encoder.Encode(data)))
}

func sendBytes(c *call, data []byte) error {
	c.answer.bytes("text/plain", int64(len(data)))
	c.answer.Header().Del("X-Content-Length") // Kubo's only cat and get have it
	_, err := c.answer.Write(data)
	return err
}

// checkSlow refuses content that takes the square of its length.
func checkSlow(base multibase.Encoding, size int) error {
	name := multibase.EncodingToStr[base]
	if slow := strings.HasPrefix(name, "base58") || strings.HasPrefix(name, "base36"); !slow || size <= maxSlowBytes {
		return nil
	}
	return &nodegate.Error{Op: "storage", Code: nodegate.TooLarge, Msg: fmt.Sprintf("%s takes at most %d bytes: use base64url or base32 for more", name, maxSlowBytes)}
}
