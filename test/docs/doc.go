// Package docs keeps the documentation true. Its tests start the real service and
// run every example of README.md and docs/*.md, in the order a reader meets them,
// and check that links lead somewhere and that tables list what the code has.
//
// An example is a fenced sh block with one curl line; a fenced json block after it
// is the answer. A fenced ws block is a WebSocket transcript: an address, then
// --> lines sent and <-- lines received. An HTML comment before a block changes how
// it is checked: <!-- varies --> compares the structure only, <!-- status 401 -->
// expects another HTTP status than 200.
//
// go test ./test/docs -update writes the answers again; read each before keeping it.
package docs
