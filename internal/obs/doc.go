// Package obs holds what operators use: logs that never contain a key, metrics,
// request ids and the admin listener's pages.
package obs
