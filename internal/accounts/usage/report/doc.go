// Package report computes the figures of a usage page: what an account used in a period,
// by which key, network or method, and how much is left.
//
// One call of Make answers all that a page shows: the totals, a series over time with
// one point for each step, the groups of a dimension, today's credits against the
// plan, and storage against the quota. WriteCSV writes the same figures.
//
// The store adds up; nothing here reads single rows. Each range has a step, and reads
// the coarsest rows that have its steps and its start: so a month of a hundred keys is
// a few thousand rows. A range begins at a whole step, at or before the time that it
// names, and ends with the step that holds now.
//
// What a server has recorded and not brought to the store yet, 5 seconds' worth, is
// not in the figures, except in today's credits where the rate limiter is asked too.
package report
