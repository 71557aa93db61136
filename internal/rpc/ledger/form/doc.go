// Package form writes blocks, headers, transactions, receipts and logs as JSON, byte for
// byte as go-ethereum v1.17.10 answers them, straight from the encodings that block hashes
// and roots are made of. Nothing is decoded into objects on the way: the fields of the RLP
// are found, and their bytes are written as hex digits.
//
// Start at Writer. Its methods append to a buffer and return false for rows that can't be
// read or whose form is not known, never a guess: whoever asked passes the call on then.
// What roots don't cover is derived (gasUsed by the caller, who knows the receipt before;
// prices, contract addresses and bloom filters here) or given by the caller (the sender,
// the blob gas price). Members that only some networks have are appended as they are.
// Beside Ethereum's types of transactions, deposits of the OP stack can be written.
//
//	writer.go       Writer, and what it works with
//	cursor.go       the fields of RLP, strictly as go-ethereum reads them
//	text.go         hex and members of JSON
//	header.go       headers and what is kept of them in memory
//	block.go        blocks, with hashes or whole transactions
//	transaction.go  transactions
//	receipt.go      receipts, from rows that have no bloom filter
//	slim.go         those rows, from receipts as they are hashed, and back
//	log.go          logs
//	bloom.go        bloom filters
//	price.go        what a unit of gas cost, and addresses of new contracts
//
// The package knows no store, no network and no method.
package form
