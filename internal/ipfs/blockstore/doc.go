// Package blockstore is the embedded block store: content-addressed blocks and the
// pins that keep them, on one disk. It knows no files and no HTTP. Start at Open
// in store.go, then Begin in batch.go for writing and Get in read.go for reading.
// Store joins types that have one job each: the log and the index, the tables of
// blocks, pins and quotas on them, the open uploads, and the workers that commit,
// reclaim and scrub.
//
// # The log
//
// Everything that must survive stands in an append-only log of segments (record.go
// has the form of the bytes, log.go writes them). A Batch appends its blocks as
// they come and ends with one commit record that holds all changes of pins. Commit
// returns when the record is synced: the committer (commit.go) takes all small
// batches that wait and syncs once for them; large ones take longer to enter in the
// index and let those of other accounts pass. Blocks whose batch has no commit record are
// garbage: their space is given back when the batch ends, or at the next start
// (reclaim.go).
//
// # The index
//
// The index (index.go) is a cache of the log: where each block stands, the state of
// each pin, what each account has stored, how much of each segment is in use. It is
// written without syncs. A start replays what the log has behind the index's
// checkpoint (replay.go); when the index is lost or damaged, that is the whole log.
// Blocks are keyed by multihash, so all CIDs of the same bytes share one block.
//
// # Damage
//
// Every read is verified against the CID. A block that is not what it was is put in
// quarantine: reported, never returned, and healed when the same content is put
// again. Put compares what is stored before it relies on it, and a background scrub
// (scrub.go) reads everything once in a while. Each record has checksums of its
// own; a torn end is cut off at the start, damage elsewhere is stepped over.
//
// # Collection
//
// Collect (collect.go) marks what pins keep and takes the rest off the index. It
// stops nobody: each block has the time at which it was last stored, and what is
// committed while the collection runs stays. Stored blocks that open batches put again
// or read are held in memory (holds.go): they stay until the batch ends, and their time
// changes only when it commits. Then the collection copies what is in use out of mostly
// empty segments and removes those (compact.go).
//
// Somebody pays for all that stays: pins count with their size, loose blocks of a commit
// until their time is over, and what only an open batch holds counts for that batch.
//
// # Faults
//
// All segments are reached through the interface in disk.go. A failed sync is never
// retried: the kernel may have dropped the data. When the disk is full, writes are
// InsufficientStorage until there is room; any other failed write makes the store
// read-only until a restart. Reads go on in both cases.
package blockstore
