// Package pinning keeps the requests of the IPFS Pinning Service API: which account
// asked for which CID, under which name, and how far that has come.
//
// A request is on disk before it is answered (requests.go). Workers pin what was asked
// for (work.go): as many as there are slots, which accounts share. A request that
// nobody works on is found by the next look at the store, also after a crash and on
// another server.
//
// Pins are the storage engine's, one for each CID of an account. A pin that was made by
// another command counts as a request too, with an id that follows from its CID (id.go).
// A pin goes with the last request for its CID, and a request ends with its pin.
package pinning
