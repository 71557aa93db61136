// Package requestlog keeps the latest requests of each key, in memory and for an hour,
// so that their owner can see what went wrong a moment ago.
//
// Record puts an entry into the ring of its key. A ring holds at most a few hundred
// entries and grows as they come; all rings together stay within a bound of bytes.
// When they pass it, the rings that were not written to for the longest time go
// first, whole, and after them the oldest entries of the longest. What is older than
// an hour is never shown and is cleared away within a minute.
//
// A request is recorded in about a tenth of a microsecond and nothing is allocated
// for it once its ring has its size: names that are known already are found in a
// table and shared, error texts and parameters are copied into room that the
// ring has. Parameters and responses are kept only while the key's settings say so
// (KeepParams, KeepResponses); the first entry after a setting was turned off drops those
// that were kept, and none is shown from then on. Keys, secrets and addresses of nodes are
// in no entry.
//
// Each server keeps what it answered itself. Everywhere asks the others for what they keep;
// nothing of a request leaves its server unless its owner looks.
package requestlog
