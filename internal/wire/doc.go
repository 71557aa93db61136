// Package wire holds the connections to a remote node: JSON-RPC over kept HTTP/1.1
// connections, and over a WebSocket with subscriptions. It frames every request
// itself and trusts nothing that comes back.
package wire
