// Package jsonrpc reads and writes JSON-RPC 2.0 messages. It knows nothing of
// Ethereum and imports nothing but the standard library.
//
// Reading: [Body.Scan] checks a whole body in one pass and leaves the calls it
// found as slices into it, without copying or allocating. Its grammar is strict
// (RFC 8259, valid UTF-8, at most 64 levels deep), and it refuses an envelope
// that two decoders could read differently: member names that are repeated,
// escaped or spelled in another case. What it lets through means the same to
// every decoder behind us. [Elements], [Fields], [String] and [Compact] do the
// same for the parameters of a call.
//
// [ScanAnswer] and [ScanMessage] read what a node sends back, as strictly.
//
// Writing: the Append functions add one message to a buffer. Results and ids are
// spliced in as raw JSON, so a 20-digit id comes back with its 20 digits.
package jsonrpc
