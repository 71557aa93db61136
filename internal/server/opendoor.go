package server

import (
	"context"
	"hash/maphash"
	"strconv"

	"github.com/nodegate/nodegate"
)

// openDoor lets in every key of the right form. It stands in until there are
// accounts, and Start says so loudly.
type openDoor struct{ seed maphash.Seed }

// keyDigits is the length of an API key.
const keyDigits = 32

// Authenticate checks the key's form only.
func (d openDoor) Authenticate(_ context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
	if c.Key == "" {
		return nil, &nodegate.Error{Op: "server.auth", Code: nodegate.KeyRequired, Msg: "API key required"}
	}
	if !wellFormed(c.Key) {
		return nil, &nodegate.Error{Op: "server.auth", Code: nodegate.KeyInvalid, Msg: "invalid API key"}
	}
	return &nodegate.Grant{KeyID: strconv.FormatUint(maphash.String(d.seed, c.Key), 36)}, nil
}

func wellFormed(key string) bool {
	if len(key) != keyDigits {
		return false
	}
	for _, c := range key {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
