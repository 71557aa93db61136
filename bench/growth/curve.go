package main

import (
	"fmt"
	"strconv"
	"strings"
)

// unit is what a value counts.
type unit uint8

const (
	inSeconds unit = iota
	inBytes
)

// figure is one value at one size.
type figure struct {
	name  string
	unit  unit
	value float64
}

// line is a figure at all sizes.
type line struct {
	name   string
	unit   unit
	values []float64
}

// curve is what was measured of a part.
type curve struct {
	part
	sizes []int
	lines []line
}

// add appends the figures of a size, which are the same ones at every size.
func (c *curve) add(size int, figures []figure) {
	c.sizes = append(c.sizes, size)
	for i, f := range figures {
		if i == len(c.lines) {
			c.lines = append(c.lines, line{name: f.name, unit: f.unit})
		}
		c.lines[i].values = append(c.lines[i].values, f.value)
		progress("  %-44s %s", f.name, f.unit.text(f.value))
	}
}

// table is the curve in Markdown.
func (c *curve) table() string {
	var b strings.Builder
	b.WriteString("|")
	for _, size := range c.sizes {
		fmt.Fprintf(&b, " | %s %s", grouped(size), c.noun)
	}
	b.WriteString(" |\n|" + strings.Repeat("---|", len(c.sizes)+1) + "\n")
	for _, l := range c.lines {
		b.WriteString("| " + l.name)
		for _, v := range l.values {
			b.WriteString(" | " + l.unit.text(v))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// scale is a unit's larger or smaller form.
type scale struct {
	least float64
	name  string
}

// scales are the forms of a unit, the largest first.
func (u unit) scales() []scale {
	if u == inBytes {
		return []scale{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "bytes"}}
	}
	return []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}
}

// text is a value with its unit and three digits.
func (u unit) text(v float64) string {
	list := u.scales()
	use := list[len(list)-1]
	for _, s := range list {
		if v >= 0.9995*s.least { // 999.6 ms would be 1,000 ms
			use = s
			break
		}
	}
	return digits(v/use.least) + " " + use.name
}

func digits(v float64) string {
	switch {
	case v >= 999.5:
		return grouped(int(v + 0.5))
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// grouped is a number with commas.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
