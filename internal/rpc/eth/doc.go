// Package eth implements the nine methods of the specification for clients:
// their parameters, rules, dialects and answer shapes. It is a Node over a Node:
// it checks each call, rewrites its parameters into one canonical form and passes
// it on; what comes back is shaped for the network's dialect.
//
// No byte of a client's parameters reaches the node below as it came. The nine
// methods' are rebuilt field by field; those of every other method are compacted,
// and refused where two decoders could read them differently.
//
// On a network of remote nodes (Config.Remote) a second Node stands below the rules
// and makes all clients look like Geth. remote.go is where to start: explain in
// faults.go words their errors, settle in remote.go their answers. Each difference
// that is known stands as a recorded case in testdata/clients.
package eth
