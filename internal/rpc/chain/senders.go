package chain

import (
	"bytes"
	"encoding/hex"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
)

// senders know who sent the transactions that nobody signed. Such a transaction carries a
// made-up signature, from which go-ethereum reads an address that no one has. The chain's
// database holds what stands behind each of these addresses, and answers show that.
type senders struct {
	db  ethdb.KeyValueStore
	any atomic.Bool // there is at least one: most chains never have any
}

// The keys in the database. go-ethereum's own are shorter or begin otherwise.
var (
	senderPrefix = []byte("nodegate-sender-")
	anySender    = []byte("nodegate-senders")
)

func openSenders(db ethdb.KeyValueStore) (*senders, error) {
	s := &senders{db: db}
	any, err := db.Has(anySender)
	s.any.Store(any)
	return s, err
}

// forgedSignature is a signature that nobody made. It belongs to one transaction and one
// sender, so the address that it leads to does too.
func forgedSignature(tx *types.Transaction, from common.Address, signer types.Signer) (signed *types.Transaction, err error) {
	hash := signer.Hash(tx)
	for r := crypto.Keccak256(hash[:], from[:]); ; r = crypto.Keccak256(r) {
		signature := make([]byte, crypto.SignatureLength)
		copy(signature, r)
		signature[63] = 1 // s
		if signed, err = tx.WithSignature(signer, signature); err != nil {
			return nil, err
		}
		if _, err = types.Sender(signer, signed); err == nil { // half of all values are on the curve
			return signed, nil
		}
	}
}

// add notes who sends a transaction before it is in a block. The sync of the block is its
// own: whoever sees the block finds the sender.
func (s *senders) add(tx *types.Transaction, from common.Address, signer types.Signer) error {
	apparent, err := types.Sender(signer, tx)
	if err != nil {
		return err
	}
	batch := s.db.NewBatch()
	puts := [][2][]byte{{append(senderPrefix[:len(senderPrefix):len(senderPrefix)], apparent[:]...), from[:]}, {anySender, {1}}}
	if tx.To() == nil {
		made, real := crypto.CreateAddress(apparent, tx.Nonce()), crypto.CreateAddress(from, tx.Nonce())
		puts = append(puts, [2][]byte{append(senderPrefix[:len(senderPrefix):len(senderPrefix)], made[:]...), real[:]})
	}
	for _, kv := range puts {
		if err := batch.Put(kv[0], kv[1]); err != nil {
			return err
		}
	}
	if err := batch.Write(); err != nil {
		return err
	}
	s.any.Store(true)
	return nil
}

// Where answers have addresses that follow from a signature.
var derived = [][]byte{[]byte(`"from":"0x`), []byte(`"contractAddress":"0x`)}

// correct shows the true senders in an answer. Answers are shared, so it changes a copy.
func (s *senders) correct(answer []byte) []byte {
	if !s.any.Load() {
		return answer
	}
	copied := false
	for _, member := range derived {
		for at := 0; ; {
			next := bytes.Index(answer[at:], member)
			if next < 0 {
				break
			}
			at += next + len(member)
			real := s.behind(answer[at:])
			if real == nil {
				continue
			}
			if !copied {
				answer, copied = bytes.Clone(answer), true
			}
			hex.Encode(answer[at:], real)
		}
	}
	return answer
}

// sender is who sent a transaction that seems to come from an address.
func (s *senders) sender(apparent common.Address) (from common.Address, forged bool) {
	if !s.any.Load() {
		return apparent, false
	}
	real := s.behind(hex.AppendEncode(nil, apparent[:]))
	if real == nil {
		return apparent, false
	}
	return common.Address(real), true
}

// behind is who stands behind the address that a text begins with, or nil.
func (s *senders) behind(text []byte) []byte {
	const digits = 2 * common.AddressLength
	var apparent [common.AddressLength]byte
	if len(text) < digits {
		return nil
	}
	if _, err := hex.Decode(apparent[:], text[:digits]); err != nil {
		return nil
	}
	real, err := s.db.Get(append(senderPrefix[:len(senderPrefix):len(senderPrefix)], apparent[:]...))
	if err != nil || len(real) != common.AddressLength {
		return nil
	}
	return real
}
