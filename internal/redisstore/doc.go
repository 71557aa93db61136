// Package redisstore lets several servers work together through Redis: it is the
// meter's shared limiter, and it carries notices that a key or an account changed.
//
// A limit is one hash that a short script reads and writes in one step, by Redis's
// own clock; it expires by itself once its bucket is full and its day is over.
// Nothing here is worth a backup: without Redis, or after it lost its memory, every
// server limits alone and follows the changes by polling the database.
//
// All names in Redis begin with «nodegate:».
package redisstore
