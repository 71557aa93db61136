// Package obs is what an operator sees: logs that never hold a key, metrics,
// request ids and the admin listener's pages.
package obs
