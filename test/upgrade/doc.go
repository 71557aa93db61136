// Package upgrade opens data that earlier builds wrote. testdata holds, for each build
// that changed what is on disk, a data folder and a Postgres dump, both written by
// running that build (see package write). Every later build must open them and find all
// that is in them.
package upgrade

// Manifest lists what a fixture contains, as the build that wrote it answered.
type Manifest struct {
	Build    string
	Account  Account   // created by the first start
	Other    Account   // created by the command line, on the plan free
	Sent     []Sent    // transactions that were mined
	Stored   []Stored  // files that were added
	Requests int       // counted in the usage of Account
	Heads    []Head    // of each network when the server stopped
	Balances []Balance // of accounts that received ether
}

// Account is one account with its keys.
type Account struct {
	Email, Password string
	Keys            []Key
}

// Key is an API key with its secret.
type Key struct {
	ID, Value, Secret string
	Revoked           bool
}

// Sent is a mined transaction.
type Sent struct{ Network, Hash, Block string }

// Stored is a pinned file.
type Stored struct {
	CID    string
	SHA256 string // of the content, in hex
}

// Head is a network's newest block.
type Head struct{ Network, Number, Hash string }

// Balance is an account's ether, in wei.
type Balance struct{ Network, Address, Wei string }
