package chart

import (
	"html/template"
	"strconv"
	"time"
)

// SVG draws the plot and writes its figures below it.
func (p *Plot) SVG() template.HTML {
	c := new(canvas)
	id := className(p.ID)
	class := "chart-plot"
	if p.Narrow {
		class += " chart-narrow"
	}
	c.add(`<figure class="chart"><svg class="`, class, `" viewBox="0 0 `, coordinate(p.width()), ` `, coordinate(height),
		`" width="100%" data-left="`, coordinate(left), `" data-slot="`, strconv.FormatFloat(p.slot(), 'f', 3, 64), `" role="img" aria-labelledby="`, id, `-title" aria-describedby="`, id, `-desc">`)
	c.element(`title id="`+id+`-title"`, p.Title, "title")
	c.element(`desc id="`+id+`-desc"`, p.describe(), "desc")
	ticks := p.Unit.ticks(p.largest())
	p.axes(c, ticks)
	p.limit(c, ticks[len(ticks)-1])
	for i := range p.Series {
		c.add(`<g class="`, classOf(i, p.Series[i].Class), `">`)
		if p.Kind == Bars {
			p.bars(c, i, ticks[len(ticks)-1])
		} else {
			p.line(c, i, ticks[len(ticks)-1])
		}
		c.add("</g>")
	}
	c.add("</svg>")
	p.table(c)
	c.add("</figure>")
	return c.html()
}

// at is the time of a step.
func (p *Plot) at(i int) time.Time { return p.Begin.UTC().Add(time.Duration(i) * p.Step) }

// when is the time of a step in words.
func (p *Plot) when(i int) string {
	if p.Step >= 24*time.Hour {
		return p.at(i).Format("Mon 2 Jan 2006")
	}
	return p.at(i).Format("2 Jan 15:04") + " UTC"
}

// y is the height of a value from the top of the drawing.
func y(v, most float64) float64 { return top + plotHeight*(1-v/most) }

// slot is the width of one step.
func (p *Plot) slot() float64 { return (p.width() - left - right) / float64(max(p.points(), 1)) }

// axes draws the lines across with their values, and the times below.
func (p *Plot) axes(c *canvas, ticks []float64) {
	for i, v := range ticks {
		class := "chart-grid"
		if i == 0 {
			class = "chart-axis"
		}
		at := coordinate(y(v, ticks[len(ticks)-1]))
		c.add(`<line class="`, class, `" x1="`, coordinate(left), `" x2="`, coordinate(p.width()-right), `" y1="`, at, `" y2="`, at, `"/>`)
		c.element(`text class="chart-tick" text-anchor="end" dominant-baseline="middle" x="`+coordinate(left-6)+`" y="`+at+`"`, p.Unit.short(v), "text")
	}
	every, layout := p.labels()
	for i := range p.points() {
		if at := p.at(i); at.Truncate(every).Equal(at) {
			x := left + p.slot()*float64(i)
			if p.Kind == Lines || p.Step >= 24*time.Hour {
				x += p.slot() / 2
			}
			c.element(`text class="chart-tick"`+p.stamp(at)+` text-anchor="middle" x="`+coordinate(x)+`" y="`+coordinate(height-6)+`"`, at.Format(layout), "text")
		}
	}
}

// stamp marks a time for a script that writes it in the reader's zone. Days are UTC days.
func (p *Plot) stamp(at time.Time) string {
	if p.Step >= 24*time.Hour {
		return ""
	}
	return ` data-at="` + at.Format(time.RFC3339) + `"`
}

// limit draws the line that values should stay below.
func (p *Plot) limit(c *canvas, most float64) {
	if p.Limit > most || !p.limited(most) {
		return
	}
	at := y(p.Limit, most)
	c.add(`<line class="chart-limit" x1="`, coordinate(left), `" x2="`, coordinate(p.width()-right), `" y1="`, coordinate(at), `" y2="`, coordinate(at), `"/>`)
	c.element(`text class="chart-tick" text-anchor="end" x="`+coordinate(p.width()-right)+`" y="`+coordinate(at-5)+`"`, "limit "+p.Unit.short(p.Limit), "text")
}

// mostLabels is how many times stand below a wide drawing; a narrow one has half of them.
const mostLabels = 8

// labels chooses how often a time stands below the drawing and how it is written.
func (p *Plot) labels() (every time.Duration, layout string) {
	const day = 24 * time.Hour
	span, most := time.Duration(p.points())*p.Step, time.Duration(mostLabels*p.width()/wide)
	for _, every = range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 5 * day, 10 * day, 30 * day, 365 * day,
	} {
		if every >= p.Step && span/every <= most {
			break
		}
	}
	if every >= day {
		return every, "2 Jan"
	}
	return every, "15:04"
}

// bars draws one series on top of those before it.
func (p *Plot) bars(c *canvas, series int, most float64) {
	slot := p.slot()
	gap := min(slot*0.2, 3)
	wide := coordinate(slot - gap)
	for i := range p.points() {
		v, _ := p.Series[series].value(i)
		if v == 0 {
			continue
		}
		below := 0.0
		for j := range series {
			under, _ := p.Series[j].value(i)
			below += under
		}
		// A value that is small beside the others is still seen.
		high := max(plotHeight*v/most, 0.5)
		c.add(`<rect x="`, coordinate(left+slot*float64(i)+gap/2), `" y="`, coordinate(max(y(below, most)-high, 0)), `" width="`, wide, `" height="`, coordinate(high), `">`)
		c.element("title", p.say(series, i, v), "title")
		c.add("</rect>")
	}
}

// say is a value with its time and name.
func (p *Plot) say(series, i int, v float64) string {
	return p.when(i) + ": " + p.Unit.Text(v) + " " + p.Series[series].Name
}

// line draws one series, broken off at the gaps, with a mark at each value.
func (p *Plot) line(c *canvas, series int, most float64) {
	var marks canvas
	drawing := false
	for i := range p.points() {
		v, ok := p.Series[series].value(i)
		if !ok {
			if drawing {
				c.add(`"/>`)
			}
			drawing = false
			continue
		}
		if !drawing {
			c.add(`<polyline class="chart-line" fill="none" points="`)
			drawing = true
		}
		x, y := coordinate(left+p.slot()*(float64(i)+0.5)), coordinate(y(v, most))
		c.add(x, ",", y, " ")
		marks.add(`<circle cx="`, x, `" cy="`, y, `" r="2">`)
		marks.element("title", p.say(series, i, v), "title")
		marks.add("</circle>")
	}
	if drawing {
		c.add(`"/>`)
	}
	c.add(marks.String())
}

// describe says in words what the plot shows.
func (p *Plot) describe() string {
	n := p.points()
	if n == 0 {
		return "There is nothing to show."
	}
	text := strconv.Itoa(n) + " steps, from " + p.when(0) + " to " + p.when(n-1) + "."
	for i := range p.Series {
		text += " " + p.Series[i].Name + ": " + p.describeSeries(i, n) + "."
	}
	return text
}

func (p *Plot) describeSeries(series, n int) string {
	sum, most, last, at, seen := 0.0, -1.0, 0.0, 0, false
	for i := range n {
		v, ok := p.Series[series].value(i)
		if !ok {
			continue
		}
		sum, last, seen = min(sum+v, maxValue), v, true
		if v > most {
			most, at = v, i
		}
	}
	switch {
	case !seen || most == 0:
		return "none"
	case p.Kind == Bars:
		return p.Unit.Text(sum) + " in all, at most " + p.Unit.Text(most) + " at " + p.when(at)
	}
	return "at most " + p.Unit.Text(most) + " at " + p.when(at) + ", the latest is " + p.Unit.Text(last)
}

// table writes the same figures for who can't see the drawing, or wants to copy them.
func (p *Plot) table(c *canvas) {
	c.add(`<details class="chart-data"><summary>Figures</summary><div class="wide" tabindex="0" role="group" aria-labelledby="`, className(p.ID), `-title"><table>`)
	c.element("caption", p.Title, "caption")
	c.add("<thead><tr>")
	head := "Time (UTC)"
	if p.Step >= 24*time.Hour {
		head = "Day (UTC)"
	}
	c.element(`th scope="col"`, head, "th")
	for i := range p.Series {
		c.element(`th scope="col"`, p.Series[i].Name, "th")
	}
	c.add("</tr></thead><tbody>")
	for i := range p.points() {
		c.add("<tr>")
		layout := "2006-01-02 15:04"
		if p.Step >= 24*time.Hour {
			layout = "2006-01-02"
		}
		c.element(`th scope="row"`+p.stamp(p.at(i)), p.at(i).Format(layout), "th")
		for j := range p.Series {
			v, ok := p.Series[j].value(i)
			text := ""
			if ok {
				text = p.Unit.Text(v)
			}
			c.element("td", text, "td")
		}
		c.add("</tr>")
	}
	c.add("</tbody></table></div></details>")
}
