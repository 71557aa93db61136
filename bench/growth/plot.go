package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The measures of a drawing, in pixels. The lines of a panel lie between its edges.
const (
	panelWide, panelHigh     = 240.0, 150.0
	panelLeft, panelRight    = 26.0, 214.0
	panelTop, panelBottom    = 44.0, 118.0
	panelTitle, panelSizes   = 18.0, 136.0
	perRow                   = 3
	margin                   = 0.08 // of the height, above and below the lines
	leastDecades, markRadius = 1.0, 3.0
	labelAbove               = 7.0
	plotStyle                = `svg{background:#fff}text{font:11px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;fill:#24292f}.a{stroke:#d0d7de;fill:none}.l{stroke:#0969da;stroke-width:2;fill:none}.m{fill:#0969da}@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#9198a1}.t{fill:#f0f6fc}.a{stroke:#3d444d}.l{stroke:#4493f8}.m{fill:#4493f8}}`
)

// point is a place in a panel, with the value there.
type point struct{ x, y, value float64 }

// svg draws a panel for each line.
func (c *curve) svg() string {
	rows := (len(c.lines) + perRow - 1) / perRow
	columns := min(perRow, len(c.lines))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %v %v" role="img" aria-labelledby="t"><title id="t">%s</title><style>%s</style>`+"\n",
		float64(columns)*panelWide, float64(rows)*panelHigh, escaped(c.summary()), plotStyle)
	for i, l := range c.lines {
		fmt.Fprintf(&b, `<g transform="translate(%v %v)">`, float64(i%perRow)*panelWide, float64(i/perRow)*panelHigh)
		c.panel(&b, l)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// summary is the drawing in words, for those who don't see it.
func (c *curve) summary() string {
	first, last := 0, len(c.sizes)-1
	var parts []string
	for _, l := range c.lines {
		parts = append(parts, fmt.Sprintf("%s %s to %s", l.name, l.unit.text(l.values[first]), l.unit.text(l.values[last])))
	}
	return fmt.Sprintf("%s, from %s to %s: %s", c.title, grouped(c.sizes[first]), grouped(c.sizes[last]), strings.Join(parts, "; "))
}

// panel draws a line: its name, the axes, and each point with its value.
func (c *curve) panel(b *strings.Builder, l line) {
	fmt.Fprintf(b, `<text class="t" x="%v" y="%v">%s</text><path class="a" d="M%v %vV%vH%v"/>`,
		panelLeft, panelTitle, escaped(l.name), panelLeft, panelTop-labelAbove, panelBottom, panelRight)
	for i, size := range c.sizes {
		fmt.Fprintf(b, `<text x="%.1f" y="%v" text-anchor="middle">%s</text>`, c.across(i), panelSizes, grouped(size))
	}
	points := c.points(l)
	if len(points) > 1 {
		b.WriteString(`<polyline class="l" points="`)
		for _, p := range points {
			fmt.Fprintf(b, "%.1f,%.1f ", p.x, p.y)
		}
		b.WriteString(`"/>`)
	}
	for _, p := range points {
		fmt.Fprintf(b, `<circle class="m" cx="%.1f" cy="%.1f" r="%v"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`,
			p.x, p.y, markRadius, p.x, p.y-labelAbove, l.unit.text(p.value))
	}
}

// decades is how many powers of ten lie between the sizes.
func (c *curve) decades() float64 {
	return math.Log10(float64(c.sizes[len(c.sizes)-1]) / float64(c.sizes[0]))
}

// across is where a size stands, on a logarithmic axis.
func (c *curve) across(i int) float64 {
	if c.decades() == 0 {
		return (panelLeft + panelRight) / 2
	}
	share := math.Log10(float64(c.sizes[i])/float64(c.sizes[0])) / c.decades()
	inset := 0.14 * (panelRight - panelLeft)
	return panelLeft + inset + share*(panelRight-panelLeft-2*inset)
}

// points are where the values of a line stand. Both axes have as many powers of ten, so
// that proportional growth goes from corner to corner, and the height is the same for all
// panels of a curve unless a value grows faster. A value that isn't above zero has no place.
func (c *curve) points(l line) (list []point) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range l.values {
		if v > 0 {
			low, high = min(low, math.Log10(v)), max(high, math.Log10(v))
		}
	}
	span := max(high-low, c.decades(), leastDecades)
	bottom := (low+high-span)/2 - margin*span
	for i, v := range l.values {
		if v > 0 {
			share := (math.Log10(v) - bottom) / (span * (1 + 2*margin))
			list = append(list, point{c.across(i), panelBottom - share*(panelBottom-panelTop), v})
		}
	}
	return list
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}
