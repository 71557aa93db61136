package credential

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// The cost of a password: 19 MiB, two passes, one lane, as OWASP asks for.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

var phc = base64.RawStdEncoding

// HashPassword makes the PHC string of a password. It takes 19 MiB and some tens
// of milliseconds: the caller bounds how many run at once.
func HashPassword(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, phc.EncodeToString(salt), phc.EncodeToString(key))
}

// CheckPassword compares a password with its PHC string. An unknown account has
// none; then the same work is done for nothing, so that the time tells nothing.
func CheckPassword(hash, password string) bool {
	var version, memory, passes int
	var threads uint8
	var saltText, keyText string
	n, _ := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%22s$%43s", &version, &memory, &passes, &threads, &saltText, &keyText)
	salt, saltErr := phc.DecodeString(saltText)
	want, keyErr := phc.DecodeString(keyText)
	if n != 6 || saltErr != nil || keyErr != nil || version != argon2.Version || memory < 1 || memory > 4*argonMemory || passes < 1 || passes > 4*argonTime || threads == 0 || len(want) == 0 {
		argon2.IDKey([]byte(password), make([]byte, argonSalt), argonTime, argonMemory, argonThreads, argonKey)
		return false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(passes), uint32(memory), threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
