// Package snippet writes code snippets: one small program for each tool and library, with
// the user's endpoint and key.
//
// The texts are the files in templates/. Each prints the newest block, or adds a file
// and prints its CID; the one for wallets adds a network. Tests in test/clients and
// test/browser render them for a running server and run them as they stand, so that what
// the dashboard shows is known to work.
//
// The secret of a key is never in a snippet: it is read from the environment as
// SECRET, so that what is saved to a file can be shown around.
package snippet
