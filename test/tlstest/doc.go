// Package tlstest has what stands between a server and a node with TLS, for tests: a
// certificate authority of its own, and a proxy that opens tunnels.
package tlstest
