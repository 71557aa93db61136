// Package kuborpc tests a storage gateway with Kubo's own Go client, client/rpc. It is a
// module of its own, so that the requirements of Kubo don't become ours. The tests of
// test/clients start a server and run these against it; the variable NODEGATE_STORAGE
// says where it is and which keys to use.
package kuborpc
