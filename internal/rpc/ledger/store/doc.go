// Package store keeps blocks of one chain on disk: headers, transactions, receipts and
// senders, in the encodings that their roots are made of. It knows heights, hashes and
// which block is canonical; it does not know what is in a header or a receipt, and it
// checks nothing that a node said. Whoever writes has checked the blocks before.
//
// What is stored is a copy. A folder of another chain, of an unknown format, or one that
// can't be read is emptied with a line in the log and filled again. The format before this
// one is converted.
//
// Everything of a block lies together in Pebble, under its height and a branch: 0 is
// the first block that was stored at a height, 1 the next. A reorg writes the blocks of
// the new branch beside the old ones (Put), then moves the canonical pointers in one
// synced batch (Move). So a crash leaves an older tip and never a mix of two chains.
//
// A full disk makes writes fail until there is space again, and any other error of a
// write ends writing until the folder is opened again. Reads go on in both cases, and
// the process never ends because of it.
package store
