package server

import "github.com/nodegate/nodegate/internal/accounts/account"

// The types of the use cases that a Control's callers name. They are the same
// types; the command line reaches them here without reaching past the server.
type (
	// NewAccount is what an account begins with.
	NewAccount = account.NewAccount
	// IssuedKey is a key whose texts are shown to its owner.
	IssuedKey = account.IssuedKey
	// Rotation says what of a key is made new.
	Rotation = account.Rotation
	// Attempt is a try to sign in.
	Attempt = account.Attempt
)
