// Package backup is the format of a backup: files in chunks, and a list of them that is
// written last. It knows nothing about what the files are; package server decides what to
// put in and where it goes when it is restored.
//
// # Form
//
// A backup is a folder, or one tar file with the same names in it:
//
//	nodegate-backup.json   the version of the format, and how the rest is encrypted
//	chunks/ab/abcd...      pieces of files, named after their content
//	snapshots/<time>       the files of one backup, each with the names of its chunks
//
// A chunk that is there already is not written again, so a second backup into the same
// folder writes only what is new. A snapshot is put in place when all its chunks are on
// disk, by a rename: a backup that was interrupted has none, and can't be taken for a
// whole one. A tar file gets its name when it is complete.
//
// # Checks
//
// Every chunk and every snapshot carries its own checksum, or with a passphrase is sealed
// with XChaCha20-Poly1305, each bound to its name. A flipped bit, a missing chunk and one
// in the place of another are found when it is read. Start at Create and Open.
package backup
