// Package ipfs holds the storage plane: gateway serves Kubo's HTTP API, unixfs turns files
// into blocks and back, and blockstore or kubo keep the blocks. blocktest is the suite that
// both engines pass; files lists an account's files for the dashboard. Start reading at
// gateway.
package ipfs
