// Package fastpath is a fast path for the most frequent requests: small
// HTTP/1.1 POSTs of JSON that arrive whole. It reads them, has them answered and
// writes the answer with one system call each, on the connection's own goroutine.
//
// Whatever is not plain to the letter is handed over, with every byte read so
// far, to an ordinary net/http server, and the connection stays there: chunked
// bodies, other methods, upgrades, unusual headers, bodies that come in pieces,
// HTTP/1.0. So there is one small parser here that can only say "exactly this" or
// "not mine", and a fuzz test holds it against net/http's.
package fastpath
