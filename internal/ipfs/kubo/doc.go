// Package kubo is the storage engine that keeps blocks on remote nodes with
// Kubo's RPC API. It works on blocks, so that everything above it (files, CIDs,
// answers) is the same as with the embedded store. Start at New in engine.go.
//
// # Nodes
//
// A node (node.go) is asked over pooled connections, with a limit on requests at
// once and on every wait. A node that fails three times in a row is not used until a
// probe succeeds (health.go). Nothing that a node says is believed: each block
// is hashed before it is used (read.go), each import must count as many blocks as
// were sent (upload.go), each pin must be named in the answer (pinning.go).
//
// # Reading
//
// Get asks the nodes in turn for what they have, the one that answered last first,
// and only then, where that is allowed, one of them to fetch from the network.
//
// # Writing
//
// A Batch (batch.go) keeps its first blocks in memory; when they are all, they are
// sent at its Commit, and sent again to another node where one fails. A larger batch
// becomes a stream into a node's dag/import. Blocks go as CIDs of the codec raw: nodes
// keep them by their hash, and must not try to understand them.
//
// # Pins
//
// Who pins what is in a nodegate.PinStore that all servers share, not on the nodes:
// Kubo has one set of pins for everybody. Commit (commit.go) claims the content there,
// pins it on the nodes, and then makes the pins. A crash between the steps leaves a
// claim that ends by itself. Collect (collect.go) goes the other way: what nobody
// pins or claims is unpinned on every node; what is then deleted, and when, is the
// nodes' own business.
//
// Repair (repair.go) compares the store with the nodes now and then, and copies content
// to further nodes where too few have it. It claims what it copies, as Commit does, so
// that Collect finds what its owner has unpinned meanwhile.
//
// A Kubo loses a good pin when a second pin/add of the same content is canceled. So
// content that somebody holds already is looked up before it is pinned, and a
// pin/add does not end with the request that it is for.
package kubo
