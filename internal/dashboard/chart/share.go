package chart

import (
	"html/template"
	"strconv"
)

// Share is one bar of a drawing of shares.
type Share struct {
	Name  string
	Value float64
}

// The measures of the other drawings.
const (
	shareRow, shareBar     = 30.0, 8.0
	sparkWidth, sparkHigh  = 120.0, 28.0
	maxShares              = 100
	shareText, shareAmount = 12.0, width - 2
)

// Shares draws bars from left to right, one below the other, each beside the whole.
// What is the whole is 0 for the sum of them.
func Shares(id, title string, unit Unit, whole float64, list []Share) template.HTML {
	c, id := new(canvas), className(id)
	list = list[:min(len(list), maxShares)]
	sum := 0.0
	for _, s := range list {
		v, _ := tame(s.Value)
		sum = min(sum+v, maxValue)
	}
	if whole, ok := tame(whole); ok && whole > 0 {
		sum = whole
	}
	high := shareRow * float64(max(len(list), 1))
	c.add(`<figure class="chart"><svg class="chart-shares" viewBox="0 0 `, coordinate(width), ` `, coordinate(high), `" width="100%" role="img" aria-labelledby="`, id, `-title" aria-describedby="`, id, `-desc">`)
	c.element(`title id="`+id+`-title"`, title, "title")
	c.element(`desc id="`+id+`-desc"`, describeShares(unit, sum, list), "desc")
	for i, s := range list {
		share(c, unit, i, s, sum)
	}
	c.add("</svg>")
	shareTable(c, title, unit, sum, list)
	c.add("</figure>")
	return c.html()
}

// part is a value as a share of a sum, at most all of it.
func part(v, sum float64) float64 {
	v, ok := tame(v)
	if !ok || sum <= 0 {
		return 0
	}
	return min(v/sum, 1)
}

func percent(v, sum float64) string {
	return strconv.FormatFloat(100*part(v, sum), 'f', 1, 64) + " %"
}

func share(c *canvas, unit Unit, i int, s Share, sum float64) {
	y := shareRow * float64(i)
	row := coordinate(y + shareText)
	bar := `" y="` + coordinate(y+shareText+6) + `" height="` + coordinate(shareBar) + `" width="`
	c.add("<g>")
	c.element("title", s.Name+": "+unit.Text(s.Value)+", "+percent(s.Value, sum), "title")
	c.element(`text class="chart-tick" x="0" y="`+row+`"`, s.Name, "text")
	c.element(`text class="chart-tick" text-anchor="end" x="`+coordinate(shareAmount)+`" y="`+row+`"`, unit.Text(s.Value), "text")
	c.add(`<rect class="chart-track" x="0`, bar, coordinate(width), `"/><rect class="chart-s0" x="0`, bar, coordinate(width*part(s.Value, sum)), `"/></g>`)
}

func describeShares(unit Unit, sum float64, list []Share) string {
	if len(list) == 0 {
		return "There is nothing to show."
	}
	text := ""
	for _, s := range list {
		if text != "" {
			text += "; "
		}
		text += s.Name + ": " + unit.Text(s.Value) + ", " + percent(s.Value, sum)
	}
	return text + "."
}

func shareTable(c *canvas, title string, unit Unit, sum float64, list []Share) {
	c.add(`<details class="chart-data"><summary>Figures</summary><table>`)
	c.element("caption", title, "caption")
	c.add(`<thead><tr><th scope="col">Name</th><th scope="col">Value</th><th scope="col">Share</th></tr></thead><tbody>`)
	for _, s := range list {
		c.add("<tr>")
		c.element(`th scope="row"`, s.Name, "th")
		c.element("td", unit.Text(s.Value), "td")
		c.element("td", percent(s.Value, sum), "td")
		c.add("</tr>")
	}
	c.add("</tbody></table></details>")
}

// Sparkline draws values as one small line, for a cell of a table. Its title says
// what it shows, with the largest and the latest value.
func Sparkline(title string, unit Unit, values []float64) template.HTML {
	p := Plot{Kind: Lines, Unit: unit, Series: []Series{{Values: values}}}
	c, most := new(canvas), p.largest()
	last := "none"
	if n := p.points(); n > 0 {
		last = unit.Text(values[n-1])
	}
	c.add(`<svg class="chart-spark" viewBox="0 0 `, coordinate(sparkWidth), ` `, coordinate(sparkHigh), `" width="`, coordinate(sparkWidth), `" height="`, coordinate(sparkHigh), `" role="img">`)
	c.element("title", title+": at most "+unit.Text(most)+", the latest is "+last, "title")
	if n := p.points(); n > 0 {
		c.add(`<polyline class="chart-line chart-s0" fill="none" points="`)
		for i := range n {
			v, _ := p.Series[0].value(i)
			x := sparkWidth * (float64(i) + 0.5) / float64(n)
			c.add(coordinate(x), ",", coordinate(sparkHigh-1-(sparkHigh-2)*part(v, most)), " ")
		}
		c.add(`"/>`)
	}
	c.add("</svg>")
	return c.html()
}
