// Package anchor ties the tags of a call (latest, safe, finalized) to a block number,
// once, before anything below sees it: so all parts of an answer are of one block, a
// cache can keep it, and heads never go backwards.
package anchor
