// Package edge is the JSON-RPC front end: HTTP on /v3 and WebSocket on /ws/v3. It
// finds the network and the key in the address, reads the envelope, calls the
// network's node and writes the answer. It knows the protocol and no Ethereum.
package edge
