// Package credential makes API keys, secrets and session tokens, and turns them into
// what may be stored: digests for looking them up and comparing them, and the key
// sealed for its owner. Everything is under keys derived from the pepper, which is
// never in the database: a stolen database holds nothing that opens a door.
package credential
