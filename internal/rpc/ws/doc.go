// Package ws is the server's side of WebSockets (RFC 6455), made for many that are
// idle: one costs a struct of about a kilobyte and the goroutine that reads it. It
// knows frames and no JSON-RPC.
//
// Accept answers a handshake and takes the connection out of net/http's hands, whose
// buffers are left to the collector. One goroutine reads: Wait returns when a message
// begins, and only then does Read want a buffer for it. Anyone may write. Close says
// goodbye with a status; it tries to get its frame even to a peer that doesn't read.
//
// There are no extensions and no subprotocols. A fuzz test holds the reader against
// github.com/coder/websocket.
package ws
