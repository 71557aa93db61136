package backup

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/nodegate/nodegate"
)

// Format is the version of the form of a backup. A backup with a higher one is refused.
const Format = 1

// header is what nodegate-backup.json says. It is the one part that is never encrypted.
type header struct {
	Format     int         `json:"format"`
	Encryption *encryption `json:"encryption,omitempty"`
}

// encryption says how the key is derived from the passphrase. Check tells a wrong
// passphrase from damage.
type encryption struct {
	KDF    string `json:"kdf"`
	Salt   []byte `json:"salt"`
	Time   uint32 `json:"time"`
	Memory uint32 `json:"memory_kib"`
	Check  []byte `json:"check"`
}

// What a passphrase costs to try, and what a header may ask for at most: whoever reads a
// backup of somebody else must not need all memory for it.
const (
	kdfName   = "argon2id"
	kdfTime   = 3
	kdfMemory = 64 << 10 // KiB
	maxTime   = 16
	maxMemory = 1 << 20
	saltBytes = 16
)

// sealer makes and checks the parts of a backup.
type sealer interface {
	// chunkName is the name of a chunk with this content.
	chunkName(data []byte) string
	// seal is what is stored of a part, bound to its name.
	seal(name string, data []byte) []byte
	// open is the content of a part, or an error when it is not what was sealed.
	open(name string, stored []byte) ([]byte, error)
}

// newHeader begins a backup, encrypted if there is a passphrase.
func newHeader(passphrase string) (*header, sealer) {
	if passphrase == "" {
		return &header{Format: Format}, plain{}
	}
	e := &encryption{KDF: kdfName, Salt: make([]byte, saltBytes), Time: kdfTime, Memory: kdfMemory}
	_, _ = rand.Read(e.Salt) // never fails
	s, check := e.derive(passphrase)
	e.Check = check
	return &header{Format: Format, Encryption: e}, s
}

// readHeader finds out how a backup is to be read.
//
// Returns BadConfig for a newer format, and InvalidInput for a passphrase that is missing,
// not needed or wrong.
func readHeader(text []byte, passphrase string) (sealer, error) {
	var h header
	if err := json.Unmarshal(text, &h); err != nil || h.Format < 1 {
		return nil, damaged(headerName, err)
	}
	if h.Format > Format {
		return nil, fault(nodegate.BadConfig, "the backup was made by a newer nodegate: its format is "+number(h.Format)+" and this one knows "+number(Format)+". Use the newer nodegate", nil)
	}
	e := h.Encryption
	switch {
	case e == nil && passphrase == "":
		return plain{}, nil
	case e == nil:
		return nil, fault(nodegate.InvalidInput, "the backup is not encrypted: leave the passphrase out, or choose another folder", nil)
	case passphrase == "":
		return nil, fault(nodegate.InvalidInput, "the backup is encrypted: name its passphrase file with --passphrase-file, or set NODEGATE_BACKUP_PASSPHRASE", nil)
	case e.KDF != kdfName || len(e.Salt) < saltBytes || e.Time < 1 || e.Time > maxTime || e.Memory > maxMemory:
		return nil, damaged(headerName, errors.New("the encryption is unknown"))
	}
	s, check := e.derive(passphrase)
	if !hmac.Equal(check, e.Check) {
		return nil, fault(nodegate.InvalidInput, "this is not the passphrase of this backup", nil)
	}
	return s, nil
}

// derive makes the keys of a passphrase, and what proves it.
func (e *encryption) derive(passphrase string) (s sealed, check []byte) {
	master := argon2.IDKey([]byte(passphrase), e.Salt, e.Time, e.Memory, 1, 32)
	key := func(use string) []byte {
		k, err := hkdf.Key(sha256.New, master, nil, "nodegate backup "+use, 32)
		if err != nil {
			panic(err) // the lengths are fixed, and allowed
		}
		return k
	}
	aead, err := chacha20poly1305.NewX(key("content"))
	if err != nil {
		panic(err) // the key has its length
	}
	return sealed{names: key("names"), aead: aead}, key("check")
}

// plain is a backup without a passphrase: each part begins with its checksum.
type plain struct{}

func (plain) chunkName(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sumLength is that of a checksum in hex and the end of its line.
const sumLength = 2*sha256.Size + 1

func (plain) seal(name string, data []byte) []byte {
	return append(append([]byte(checksum(name, data)), '\n'), data...)
}

func (plain) open(name string, stored []byte) ([]byte, error) {
	if len(stored) < sumLength || string(stored[:sumLength]) != checksum(name, stored[sumLength:])+"\n" {
		return nil, damaged(name, nil)
	}
	return stored[sumLength:], nil
}

// checksum is of a part and its name, so that no part passes for another.
func checksum(name string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// sealed is a backup with a passphrase. Names of chunks are keyed too: from a plain digest
// somebody could tell whether a known file is in the backup.
type sealed struct {
	names []byte
	aead  cipher.AEAD
}

func (s sealed) chunkName(data []byte) string {
	h := hmac.New(sha256.New, s.names)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func (s sealed) seal(name string, data []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(data)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return s.aead.Seal(nonce, nonce, data, []byte(name))
}

func (s sealed) open(name string, stored []byte) ([]byte, error) {
	if len(stored) < s.aead.NonceSize() {
		return nil, damaged(name, nil)
	}
	nonce, text := stored[:s.aead.NonceSize()], stored[s.aead.NonceSize():]
	data, err := s.aead.Open(nil, nonce, text, []byte(name))
	if err != nil {
		return nil, damaged(name, err)
	}
	return data, nil
}
