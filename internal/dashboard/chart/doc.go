// Package chart draws plots as SVG, on the server: bars and lines over time, bars of
// shares, and sparklines.
//
// A plot is a <figure> with the drawing and, in a <details> below it, the same figures
// as a table. The drawing has a title and a description in words, and each bar and
// each point says its time and value. There are no colors, styles or scripts in it:
// a page's style sheet gives them by class, so that a strict content security policy
// holds and themes work. The classes are
//
//	chart              the figure
//	chart-plot         the drawing; chart-spark and chart-shares are the other kinds
//	chart-narrow       a drawing for a third of a screen's width
//	chart-area         what lies below the line of a sparkline
//	chart-grid         lines across, at the ticks
//	chart-tick         texts at the axes
//	chart-axis         the line at zero
//	chart-s0, -s1, ... what belongs to a series, in their order
//	chart-line         the line of a series
//	chart-track        the whole length behind a share
//	chart-data         the details with the table
//
// Each series can bring one more class of its own. All text is escaped, and what is
// drawn is well-formed XML whatever the values are: what is not a number is a gap.
package chart
