// Package logindex finds the transactions whose logs may match a query, without reading
// receipts: for every address and every topic at its position it keeps lists of blocks and
// transactions. It codes keys and lists; internal/rpc/ledger/store writes them with the
// blocks and reads them.
//
// The lists are cut into sections of 4,096 blocks, so that old ones can be removed whole.
// A list is a sequence of entries, each of one block, and is only ever appended to: a block
// adds its entries and never reads what is there. What a list says may be too much, because
// blocks were replaced or because keys are short, but never too little: whoever follows an
// entry reads the logs themselves.
//
//	key.go    keys of addresses and topics
//	block.go  the entries of a block
//	list.go   lists: decode, unite, intersect
//
// Start at Block for writing and at Search for reading.
package logindex
