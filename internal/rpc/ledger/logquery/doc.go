// Package logquery answers log queries from the ledger's store, as go-ethereum answers
// eth_getLogs: the same logs in the same order and form.
//
// Parse reads the parameters. It understands what clients send and nothing else: whatever is
// unusual is for a node to answer or to refuse in its own words. Run walks the blocks that the
// index names, under one snapshot of the store, and checks every log against the filter: the
// index says where to look, never what matches. A block whose logs are not known ends the walk
// and is reported, so that an answer is never short of anything without saying so.
package logquery
