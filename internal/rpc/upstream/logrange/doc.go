// Package logrange is about ranges of blocks in log queries. Nodes and providers limit how many
// blocks, logs or seconds one query may take, each in its own words. [Classify] reads such a
// refusal, [Read] a query's range, [Span.Split] makes parts of it, and [Merge] one list
// of the answers to the parts.
//
// Everything here is a pure function. Package pool remembers what each node allows and
// asks for the parts.
package logrange
