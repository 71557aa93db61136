package native

// table is what this package uses of otter's cache. The cache is generic: the compiler builds
// all of it again in every package from which its type can be reached, and that took 12 CPU
// seconds for each of them. Behind an interface it is built here only.
type table[K comparable, V any] interface {
	GetIfPresent(key K) (V, bool)
	Set(key K, value V) (V, bool)
}
