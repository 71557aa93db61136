package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// An API key is 28 random hex digits and 4 of checksum; a secret is 40 random ones.
const (
	keyDigits    = 32
	randomDigits = 28
	secretBytes  = 20
	tokenBytes   = 32
	idBytes      = 10
)

// NewKey makes an API key.
func NewKey() string {
	head := randomHex(randomDigits / 2)
	sum := checksum(head)
	return head + string(sum[:])
}

// NewSecret makes a key's secret.
func NewSecret() string { return randomHex(secretBytes) }

// NewToken makes a session's token, of 256 bits.
func NewToken() string { return randomHex(tokenBytes) }

// NewPassword makes a password that people can type: 80 random bits in four groups.
func NewPassword() string {
	text := strings.ToLower(rand.Text())
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16]
}

// NewID makes the id of an account ("a") or a key ("k").
func NewID(kind string) string { return kind + "-" + randomHex(idBytes) }

func randomHex(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// WellFormed tells whether a text can be an API key at all: its form and its
// checksum. Garbage is refused without a look-up.
func WellFormed(key string) bool {
	if len(key) != keyDigits {
		return false
	}
	for _, c := range []byte(key) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	sum := checksum(key[:randomDigits])
	return key[randomDigits:] == string(sum[:])
}

// checksum is the first 16 bits of the SHA-256 of the digits before it. It
// allocates nothing: garbage passes here too.
func checksum(head string) (digits [keyDigits - randomDigits]byte) {
	sum := sha256.Sum256([]byte(head))
	hex.Encode(digits[:], sum[:len(digits)/2])
	return digits
}
