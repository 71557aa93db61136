package chart

import (
	"bytes"
	"encoding/xml"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is how the series of a plot are drawn.
type Kind uint8

// The kinds.
const (
	Bars  Kind = iota // stacked, the first at the bottom
	Lines             // with gaps where a value is not a number
)

// Series are the values of one thing, one for each step.
type Series struct {
	Name   string
	Class  string // of its own, "" for none: lower-case letters, digits and hyphens
	Values []float64
}

// Plot is a drawing of series over time.
type Plot struct {
	ID     string // unique on its page: lower-case letters, digits and hyphens
	Title  string
	Kind   Kind
	Unit   Unit
	Begin  time.Time
	Step   time.Duration
	Series []Series
	Narrow bool    // for a third of a screen's width, or a phone's
	Limit  float64 // a line across, with what it is; 0 is none
}

// What is drawn lies between these, or is zero: beyond them sums and shares would not
// be numbers any more.
const minValue, maxValue = 1e-9, 1e18

// maxPoints bounds the size of a drawing.
const maxPoints = 1000

// The drawing's own measures; the page stretches it.
const (
	wide, narrow, height    = 720.0, 360.0, 240.0
	left, right, top, under = 58.0, 8.0, 12.0, 26.0
	plotHeight              = height - top - under
)

// width is how wide the drawing is.
func (p *Plot) width() float64 {
	if p.Narrow {
		return narrow
	}
	return wide
}

// canvas collects a drawing.
type canvas struct{ bytes.Buffer }

// add writes markup.
func (c *canvas) add(parts ...string) {
	for _, p := range parts {
		c.WriteString(p)
	}
}

// text writes what is no markup.
func (c *canvas) text(s string) { _ = xml.EscapeText(c, []byte(s)) } // a buffer takes everything

// element writes an element that holds a text only.
func (c *canvas) element(open, text, name string) {
	c.add("<", open, ">")
	c.text(text)
	c.add("</", name, ">")
}

func (c *canvas) html() template.HTML { return template.HTML(c.String()) } // all text in it went through text

// coordinate has one digit behind the point.
func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// tame makes a value fit to be drawn; what is none is a gap.
func tame(v float64) (tamed float64, ok bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	if v < minValue {
		return 0, true
	}
	return min(v, maxValue), true
}

// points is how many steps there are.
func (p *Plot) points() int {
	n := 0
	for _, s := range p.Series {
		n = max(n, len(s.Values))
	}
	return min(n, maxPoints)
}

// value is a series' value at a step.
func (s *Series) value(i int) (float64, bool) {
	if i >= len(s.Values) {
		return 0, false
	}
	return tame(s.Values[i])
}

// largest is what must fit below the top.
func (p *Plot) largest() float64 {
	most := 0.0
	for i := range p.points() {
		sum := 0.0
		for j := range p.Series {
			v, _ := p.Series[j].value(i)
			if p.Kind == Bars {
				sum += v
			} else {
				sum = max(sum, v)
			}
		}
		most = max(most, sum)
	}
	if p.limited(most) {
		most = max(most, p.Limit)
	}
	return most
}

// limited tells whether the limit is drawn. One that is far above all values would make them
// unreadable.
func (p *Plot) limited(most float64) bool {
	const far = 20
	limit, ok := tame(p.Limit)
	return ok && limit > 0 && most > 0 && limit < far*most
}

// className leaves out what could not stand in an attribute.
func className(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, s)
}

// classOf are the classes of a series.
func classOf(i int, own string) string {
	list := "chart-s" + strconv.Itoa(i)
	if own = className(own); own != "" {
		list += " " + own
	}
	return list
}
