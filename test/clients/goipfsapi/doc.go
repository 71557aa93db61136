// Package goipfsapi tests a storage gateway with go-ipfs-api, the older Go client of
// Kubo's API. It is a module of its own, so that the requirements of the client don't
// become ours. The tests of test/clients start a server and run these against it; the
// variable NODEGATE_STORAGE says where it is and which keys to use.
package goipfsapi
