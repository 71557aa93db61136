// Package snippet writes the lines that a user pastes: one small program for each tool
// and library that people reach the service with, ready with their address and key.
//
// The texts are the files in templates/. Each prints the newest block, or adds a file
// and prints its CID. A test in test/clients renders every one of them for a running
// server and runs it as it stands, so that what the dashboard shows is known to work.
//
// The secret of a key is never in a snippet: it is read from the environment as
// SECRET, so that what is saved to a file can be shown around.
package snippet
