// Package redisstore lets several servers work together through Redis: it is the
// shared rate limiter, it carries notifications that a key or an account changed, it holds
// the highest head that any server has reported for a network, and finalized responses of
// remote nodes for the cache.
//
// A limit is one hash that a short script reads and writes in one step, by Redis's
// own clock; it expires by itself once its bucket is full and its day is over.
// Nothing here is worth a backup: without Redis, or after it lost its memory, each
// server applies limits on its own and follows the changes by polling the database.
//
// Answers are the cache's second level (Answers): whoever is slower than 30 ms is left
// alone for two seconds, and a value that isn't exactly what was stored is a miss.
//
// Blocks are what the ledgers of several servers give each other (Blocks): one server fetches
// a block from a node, the others wait for it, no longer than a lease. A slot is taken by one
// block after the other, so that a network has a bounded number of them.
//
// All names in Redis begin with "nodegate:".
package redisstore
