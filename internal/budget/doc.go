// Package budget limits the memory that requests hold: so many bytes for the process,
// and of them so many for one account.
//
// Whoever buffers something whose size a client decides reserves the bytes first, and
// gives them back when they are written or dropped. A Hold is what one request has
// reserved. An account over its share is refused with AccountBusy, so that it can't take
// the memory of the others; the process over its limit refuses with Busy.
//
// Reserving takes a lock. Buffers below a few KiB are not counted, so small requests
// never come here; how many there are is bounded by connections.
package budget
