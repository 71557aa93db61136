// Package txjournal keeps what an embedded chain has acknowledged and its database
// can't: the transactions of the pool, and which block was the newest one on disk.
//
// The journal is one file of records that is only appended to. Senders that wait at
// the same time share one sync. When most of the file is of no use any more it is
// replaced by a shorter one. Start at Open, then read Journal.Add and Journal.Compact.
//
// Every record carries its checksum and up to where the file was synced when it was
// written. So a record that a power cut left half written is told apart from one that
// was whole once: the first ends the journal, the second makes Open fail.
package txjournal
