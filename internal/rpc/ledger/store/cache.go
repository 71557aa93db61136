package store

import "github.com/cockroachdb/pebble/v2"

// leastCache is the least memory for blocks of tables.
const leastCache = 1 << 20

// Cache is memory for blocks of tables that several stores share. Start at NewCache.
type Cache struct{ blocks *pebble.Cache }

// NewCache returns a cache of so many bytes. It fills as stores are read.
func NewCache(bytes int64) *Cache { return &Cache{pebble.NewCache(max(bytes, leastCache))} }

// Size is how many bytes are in use.
func (c *Cache) Size() int64 { return c.blocks.Size() }

// Close lets go of the memory once all stores that use it are closed.
func (c *Cache) Close() { c.blocks.Unref() }

// take returns the cache for another store, or one of its own where none is shared.
func (c *Cache) take(own int64) *pebble.Cache {
	if c == nil {
		return pebble.NewCache(max(own, leastCache))
	}
	c.blocks.Ref()
	return c.blocks
}
