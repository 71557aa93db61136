package chart

import (
	"html/template"
	"math"
)

// The measures of a sparkline; the page stretches it.
const sparkWidth, sparkHeight = 100.0, 24.0

// Spark draws values as a line with the area below it, without axes and without words: it
// decorates a figure that says the same. The scale begins at least, which is 0 for counts.
// Fewer than two values draw nothing.
func Spark(values []float64, least float64, class string) template.HTML {
	if math.IsNaN(least) || math.IsInf(least, 0) {
		least = 0
	}
	most := least
	for _, v := range values {
		if tamed, ok := tame(v); ok {
			most = max(most, tamed)
		}
	}
	if len(values) < 2 || len(values) > maxPoints || most <= least {
		return ""
	}
	line, c := "", &canvas{}
	for i, v := range values {
		height, ok := tame(v)
		if !ok {
			height = least // a gap would tear the area apart
		}
		share := min(1, max(0, (height-least)/(most-least)))
		line += "L" + coordinate(sparkWidth*float64(i)/float64(len(values)-1)) + " " + coordinate(sparkHeight-(sparkHeight-2)*share)
	}
	line = "M" + line[1:]
	c.add(`<svg class="chart-spark `, className(class), `" viewBox="0 0 `, coordinate(sparkWidth), ` `, coordinate(sparkHeight), `" preserveAspectRatio="none" aria-hidden="true">`,
		`<path class="chart-area" d="`, line, `V`, coordinate(sparkHeight), `H0Z"/><path class="chart-line" d="`, line, `"/></svg>`)
	return c.html()
}
