package unixfs

import (
	dagpb "github.com/ipld/go-codec-dagpb"
	"github.com/ipld/go-ipld-prime/codec"
	"github.com/ipld/go-ipld-prime/codec/cbor"
	"github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/codec/dagjson"
	"github.com/ipld/go-ipld-prime/codec/json"
	"github.com/ipld/go-ipld-prime/codec/raw"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/node/basicnode"
	"github.com/multiformats/go-multicodec"
)

// valueCodec reads and writes blocks of one codec as values.
type valueCodec struct {
	code    multicodec.Code
	decode  codec.Decoder
	encode  codec.Encoder
	builder func() datamodel.NodeBuilder
}

// codecs are the codecs whose blocks can be looked into.
func codecs(code uint64) (valueCodec, bool) {
	generic := basicnode.Prototype.Any.NewBuilder
	switch multicodec.Code(code) {
	case multicodec.DagPb:
		return valueCodec{multicodec.DagPb, dagpb.Decode, dagpb.Encode, dagpb.Type.PBNode.NewBuilder}, true
	case multicodec.DagCbor:
		return valueCodec{multicodec.DagCbor, dagcbor.Decode, dagcbor.Encode, generic}, true
	case multicodec.DagJson:
		return valueCodec{multicodec.DagJson, dagjson.Decode, dagjson.Encode, generic}, true
	case multicodec.Raw:
		return valueCodec{multicodec.Raw, raw.Decode, raw.Encode, generic}, true
	case multicodec.Cbor:
		return valueCodec{multicodec.Cbor, cbor.Decode, cbor.Encode, generic}, true
	case multicodec.Json:
		return valueCodec{multicodec.Json, json.Decode, json.Encode, generic}, true
	}
	return valueCodec{}, false
}

// codecNamed finds a codec by its name or number, in Kubo's words if there is none.
func codecNamed(name string) (multicodec.Code, error) {
	var code multicodec.Code
	if err := code.Set(name); err != nil {
		return 0, failedBy(err)
	}
	return code, nil
}

// KnowsCodec tells whether blocks of a codec can be looked into.
func KnowsCodec(code uint64) bool {
	_, ok := codecs(code)
	return ok || multicodec.Code(code) == multicodec.Libp2pKey
}
