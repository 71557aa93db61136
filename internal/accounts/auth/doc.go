// Package auth decides who is let in. It holds every live API key in memory, by
// digest, so that a request costs one keyed hash and one look at a map and never
// touches a disk or a network.
//
// The store is the truth. The door loads it at the start and then follows the
// store's change sequence, so what the command line or another server changes
// holds here within a second: a revoked key stops, and its open WebSockets end.
// A key that is not in memory may have been made a moment ago, so a well-formed
// one is looked up in the store once; then it is remembered as unknown.
//
// While the store is gone, known keys keep working for five minutes. After that
// nobody can say whether they were revoked, and the door closes.
package auth
