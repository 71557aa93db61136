// Package gateway is the HTTP front end of storage: Kubo's RPC API v0 over
// HTTP, for clients that were made for Kubo.
//
// One table (commands.go) lists the commands with their arguments. A request is let
// in (access.go), its arguments are read (args.go), its handler executes it over
// internal/ipfs/unixfs and internal/ipfs/blockstore, and it is answered in Kubo's forms
// (answer.go, errors.go): usage and access errors are a line of text, a command that
// failed is 500 with a JSON object, and a failure in the middle of an answer breaks
// the connection off, so that nobody takes a part for the whole.
//
// Beside the API stands the read gateway, GET /ipfs/CID (read.go), and the same content on
// hosts of their own, CID.ipfs.HOST, where websites run (site.go): files with parts
// and tags (readfile.go), pages of directories (folder.go), blocks and CARs that a
// client can check itself (trustless.go).
//
// The IPFS Pinning Service API, /pins, has its own errors and access tokens (pins.go,
// pinsinput.go, pinsaccess.go); internal/ipfs/pinning keeps its requests.
//
// Uploads may be repeated with an Idempotency-Key (idempotency.go). What an account moves
// is counted while it moves (access.go).
//
// The right answers stand as text in test/storage/testdata.
package gateway
