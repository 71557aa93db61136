package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-cidutil"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multicodec"
	"github.com/multiformats/go-multihash"
)

// maxCIDText is how long the text of a CID may be: some bases take the square of it to
// read.
const maxCIDText = 1024

// cidLine is a line of the answers of cid/format and cid/base32.
type cidLine struct{ CidStr, Formatted, ErrorMsg string }

// cidForm is how CIDs are to be written.
type cidForm struct {
	format  string
	base    multibase.Encoding // -1 is the CID's own
	codec   uint64             // 0 is the CID's own
	convert func(cid.Cid) (cid.Cid, error)
}

// cidFormat writes CIDs in another form.
func cidFormat(ctx context.Context, c *call) error {
	format, _ := c.query.String("%s", "f")
	version, _ := c.query.String("", "v")
	codec, _ := c.query.String("", "mc")
	base, _ := c.query.String("", "b")
	if err := c.query.Err(); err != nil {
		return err
	}
	form, err := newCIDForm(format, version, codec, base)
	if err != nil {
		return failed(err.Error())
	}
	return sendCIDs(ctx, c, form)
}

// cidBase32 writes CIDs in version 1 and base32.
func cidBase32(ctx context.Context, c *call) error {
	return sendCIDs(ctx, c, cidForm{format: "%s", base: multibase.Base32, convert: toVersion1})
}

// maxFormat is how long the format may be: each of its marks can stand for a whole CID.
const maxFormat = 256

func newCIDForm(format, version, codec, base string) (f cidForm, err error) {
	f = cidForm{format: format, base: -1}
	if !strings.Contains(format, "%") {
		return f, fmt.Errorf("invalid format string: %q", format)
	}
	if len(format) > maxFormat {
		return f, fmt.Errorf("the format string is longer than %d characters", maxFormat)
	}
	if codec != "" {
		var code multicodec.Code
		if err := code.Set(codec); err != nil {
			return f, err
		}
		f.codec = uint64(code)
	}
	if err := f.setVersion(version, base); err != nil || base == "" {
		return f, err
	}
	encoder, err := multibase.EncoderByName(base)
	if err == nil {
		f.base = encoder.Encoding()
	}
	return f, err
}

func (f *cidForm) setVersion(version, base string) error {
	switch version {
	case "":
		if base != "" {
			f.convert = toVersion1
		}
	case "0":
		if f.codec != 0 && f.codec != cid.DagProtobuf {
			return errors.New("cannot convert to CIDv0 with any codec other than dag-pb")
		}
		if base != "" && base != "base58btc" {
			return errors.New("cannot convert to CIDv0 with any multibase other than the implicit base58btc")
		}
		f.convert = toVersion0
	case "1":
		f.convert = toVersion1
	default:
		return fmt.Errorf("invalid cid version: %q", version)
	}
	return nil
}

func toVersion0(c cid.Cid) (cid.Cid, error) {
	if c.Type() != cid.DagProtobuf {
		return cid.Undef, errors.New("can't convert non-dag-pb nodes to cidv0")
	}
	if p := c.Prefix(); p.MhType != multihash.SHA2_256 || p.MhLength != 32 {
		return cid.Undef, errors.New("can't convert to cidv0: the hash is not sha2-256")
	}
	return cid.NewCidV0(c.Hash()), nil
}

func toVersion1(c cid.Cid) (cid.Cid, error) { return cid.NewCidV1(c.Type(), c.Hash()), nil }

// sendCIDs answers a line for each argument, and errors in these lines.
func sendCIDs(ctx context.Context, c *call, form cidForm) error {
	out := c.answer.stream()
	for _, arg := range c.args {
		if err := argTurn(ctx); err != nil {
			return err
		}
		line := cidLine{CidStr: arg}
		text, err := form.write(arg)
		var bad cidutil.FormatStringError
		switch {
		case errors.As(err, &bad) && !c.answer.begun:
			return failed(err.Error())
		case err != nil:
			line.ErrorMsg = err.Error()
		default:
			line.Formatted = text
		}
		if err := out.send(line); err != nil {
			return err
		}
	}
	return c.answer.whole()
}

// write reads a CID and writes it in the form.
func (f cidForm) write(text string) (string, error) {
	c, err := readCID(text)
	if err != nil {
		return "", err
	}
	if f.codec != 0 && f.codec != c.Type() {
		c = cid.NewCidV1(f.codec, c.Hash())
	}
	if f.convert != nil {
		if c, err = f.convert(c); err != nil {
			return "", err
		}
	}
	base := f.base
	if base == -1 {
		base = multibase.Base58BTC
		if c.Version() != 0 {
			base, _ = cid.ExtractEncoding(text)
		}
	}
	return cidutil.Format(f.format, base, c)
}

func readCID(text string) (cid.Cid, error) {
	if len(text) > maxCIDText {
		return cid.Undef, fmt.Errorf("invalid cid: longer than %d characters", maxCIDText)
	}
	return cid.Decode(text)
}

// cidParts is the answer of cid/inspect.
type cidParts struct {
	Cid        string    `json:"cid"`
	Version    int       `json:"version"`
	Multibase  basePart  `json:"multibase"`
	Multicodec codecPart `json:"multicodec"`
	Multihash  hashPart  `json:"multihash"`
	CidV0      string    `json:"cidV0,omitempty"`
	CidV1      string    `json:"cidV1"`
	ErrorMsg   string    `json:"errorMsg,omitempty"`
}

type basePart struct {
	Prefix string `json:"prefix"`
	Name   string `json:"name"`
}

type codecPart struct {
	Code uint64 `json:"code"`
	Name string `json:"name"`
}

type hashPart struct {
	Code   uint64 `json:"code"`
	Name   string `json:"name"`
	Length int    `json:"length"`
	Digest string `json:"digest"`
}

// cidInspect takes a CID apart.
func cidInspect(_ context.Context, c *call) error {
	text := c.args[0]
	id, err := readCID(text)
	if err != nil {
		return c.answer.object(cidParts{Cid: text, ErrorMsg: noCID(text, err)})
	}
	hash, err := multihash.Decode(id.Hash())
	if err != nil {
		return c.answer.object(cidParts{Cid: text, ErrorMsg: "failed to decode multihash: " + err.Error()})
	}
	p := cidParts{
		Cid: text, Version: int(id.Version()), Multibase: basePart{"z", "base58btc"},
		Multicodec: codecPart{id.Type(), nameOr(multicodec.Code(id.Type()).String())},
		Multihash:  hashPart{hash.Code, nameOr(multihash.Codes[hash.Code]), hash.Length, hex.EncodeToString(hash.Digest)},
	}
	if id.Version() > 0 {
		base, _ := cid.ExtractEncoding(text)
		p.Multibase = basePart{string(rune(base)), multibase.EncodingToStr[base]}
	}
	if v0, err := toVersion0(id); err == nil {
		p.CidV0 = v0.String()
	}
	p.CidV1 = version1Text(id)
	return c.answer.object(p)
}

// version1Text writes keys of peers in base36, which fits into a label of DNS.
func version1Text(id cid.Cid) string {
	base := multibase.Encoding(multibase.Base32)
	if id.Type() == cid.Libp2pKey {
		base = multibase.Base36
	}
	v1 := cid.NewCidV1(id.Type(), id.Hash())
	text, err := v1.StringOfBase(base)
	if err != nil {
		return v1.String()
	}
	return text
}

func nameOr(name string) string {
	if name == "" || strings.HasPrefix(name, "Code(") {
		return "unknown"
	}
	return name
}

// noCID says why a text is no CID. A peer's ID looks like one.
func noCID(text string, err error) string {
	msg := "invalid CID: " + err.Error()
	if peer, ok := peerCID(text); ok {
		msg += "\nNote: the value is a PeerID; inspect its CID representation instead:\n  " + version1Text(peer)
	}
	return msg
}
