// Package unixfs turns files into blocks and blocks into files. It knows UnixFS,
// dag-pb, dag-cbor, dag-json and CAR, and nothing of HTTP, accounts or disks.
//
// Start with Objects: it holds the Blocks that everything is read from and written
// to, and each of its methods is one command of Kubo's API. A writing command gets
// a Batch, puts blocks and pins into it and leaves the Commit to the caller, so that
// a CID is named only when its blocks are safe.
//
// Adding goes like this: the multipart body is walked part by part (add.go), each
// file is cut into leaves that are hashed on all cores (leaves.go) and linked into
// a balanced or trickle tree in order (layout.go), directories are built at the end
// (folder.go). The CIDs are the ones that Kubo gives; the tests compare with boxo,
// Kubo's own library, driven as Kubo drives it.
//
// Reading goes the other way: a path is resolved to a block (resolve.go), and a
// file's leaves are fetched ahead of the reader (cat.go). Blocks come from strangers:
// sizes, depths and counts have limits (limits.go), and what breaks them is an error,
// never a panic.
package unixfs
