package gateway

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"
)

// identify answers id. No peer has this identity, since there is no network of peers, but
// clients want one that they can read; it stays the same for an account.
func identify(_ context.Context, c *call) error {
	form, _ := c.query.String("b58mh", "peerid-base")
	if err := c.query.Err(); err != nil {
		return err
	}
	peer, public := identityOf(c.account())
	if len(c.args) > 0 && c.args[0] != "" && c.args[0] != peer.B58String() {
		if _, ok := peerCID(c.args[0]); !ok {
			return failed("invalid peer id")
		}
		return failed("'ipfs id' cannot query information on remote peers without a running daemon; if you only want to convert --peerid-base, pass --offline option")
	}
	text, err := peerText(peer, form)
	if err != nil {
		return err
	}
	return c.answer.object(struct {
		ID, PublicKey string
		Addresses     []string
		AgentVersion  string
		Protocols     []string
	}{ID: text, PublicKey: base64.StdEncoding.EncodeToString(public), AgentVersion: "nodegate"})
}

// identityOf derives a peer's key from the account. The multihash holds the key itself, as
// for all keys that are this short.
func identityOf(account string) (peer multihash.Multihash, public []byte) {
	seed := sha256.Sum256([]byte("nodegate peer identity of account " + account))
	key := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	public = append([]byte{0x08, 0x01, 0x12, 0x20}, key...) // protobuf: type Ed25519, data of 32 bytes
	peer, _ = multihash.Encode(public, multihash.IDENTITY)
	return peer, public
}

// peerText writes a peer's ID in a base, or as base58 without a prefix.
func peerText(peer multihash.Multihash, form string) (string, error) {
	if form == "b58mh" || form == "v0" {
		return peer.B58String(), nil
	}
	encoder, err := multibase.EncoderByName(form)
	if err != nil {
		return "", failed(err.Error())
	}
	text, err := cid.NewCidV1(cid.Libp2pKey, peer).StringOfBase(encoder.Encoding())
	if err != nil {
		return "", failed(err.Error())
	}
	return text, nil
}

// peerCID reads a peer's ID in either of its forms.
func peerCID(text string) (cid.Cid, bool) {
	if len(text) > maxCIDText {
		return cid.Undef, false
	}
	if hash, err := multihash.FromB58String(text); err == nil {
		return cid.NewCidV1(cid.Libp2pKey, hash), true
	}
	c, err := cid.Decode(text)
	return c, err == nil && c.Type() == cid.Libp2pKey
}
