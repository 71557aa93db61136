// Package credential creates API keys, secrets and session tokens, and the forms in which
// they are stored: digests to look them up and compare them, and the key encrypted for its
// owner. All of it uses keys derived from the pepper, which is never in the database: a
// stolen database contains no usable key or secret.
package credential
