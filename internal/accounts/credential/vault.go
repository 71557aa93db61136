package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash"
	"sync"

	"github.com/nodegate/nodegate"
)

// Vault holds the keys that were derived from the pepper.
type Vault struct {
	keys    digester
	secrets digester
	tokens  digester
	audit   []byte
	seal    cipher.AEAD
	check   string
}

// New derives everything from a pepper.
func New(pepper []byte) (*Vault, error) {
	v := &Vault{}
	for purpose, d := range map[string]*digester{"api key": &v.keys, "api key secret": &v.secrets, "session": &v.tokens} {
		key, err := derive(pepper, purpose)
		if err != nil {
			return nil, err
		}
		d.pool.New = func() any { return &mac{hash: hmac.New(sha256.New, key)} }
	}
	var err error
	if v.audit, err = derive(pepper, "audit"); err != nil {
		return nil, err
	}
	check, err := derive(pepper, "check")
	if err != nil {
		return nil, err
	}
	v.check = hexOf(check[:16])
	return v, v.deriveSeal(pepper)
}

func (v *Vault) deriveSeal(pepper []byte) error {
	key, err := derive(pepper, "seal")
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	v.seal, err = cipher.NewGCM(block)
	return err
}

func derive(pepper []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, pepper, nil, "nodegate "+purpose, 32)
}

// Check is a value to keep in the database, so that a server with another pepper
// notices at its start. It says nothing about the pepper.
func (v *Vault) Check() string { return v.check }

// AuditKey is the key of the audit log's chain.
func (v *Vault) AuditKey() []byte { return v.audit }

// KeyDigest is what a key is looked up by. It allocates nothing: every request
// passes here.
func (v *Vault) KeyDigest(key string) nodegate.Digest { return v.keys.sum("", key) }

// SecretDigest is what a secret is stored as. It is bound to its key, so that rows
// can't be swapped.
func (v *Vault) SecretDigest(keyID, secret string) nodegate.Digest {
	return v.secrets.sum(keyID, secret)
}

// TokenDigest is what a session's token is stored as.
func (v *Vault) TokenDigest(token string) nodegate.Digest { return v.tokens.sum("", token) }

// Equal compares in constant time.
func Equal(a, b nodegate.Digest) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// Seal encrypts a key for its owner's dashboard, bound to the key's id.
func (v *Vault) Seal(keyID, key string) []byte {
	nonce := make([]byte, v.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return v.seal.Seal(nonce, nonce, []byte(key), []byte(keyID))
}

// Unseal decrypts what Seal made.
func (v *Vault) Unseal(keyID string, sealed []byte) (string, error) {
	size := v.seal.NonceSize()
	if len(sealed) < size {
		return "", errors.New("vault: a sealed key is too short")
	}
	key, err := v.seal.Open(nil, sealed[:size], sealed[size:], []byte(keyID))
	return string(key), err
}

// digester keeps keyed hashes ready, with their buffers.
type digester struct{ pool sync.Pool }

type mac struct {
	hash hash.Hash
	in   []byte
	out  []byte
}

func (d *digester) sum(context, text string) nodegate.Digest {
	m := d.pool.Get().(*mac)
	m.in = append(append(m.in[:0], context...), text...)
	m.hash.Reset()
	m.hash.Write(m.in)
	m.out = m.hash.Sum(m.out[:0])
	clear(m.in)
	digest := nodegate.Digest(m.out)
	d.pool.Put(m)
	return digest
}
