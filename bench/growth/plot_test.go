package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// drawn is a curve with a figure that stays, one that grows in proportion, and one with a value
// that has no place on a logarithmic axis.
func drawn() *curve {
	c := &curve{part: part{name: "keys", noun: "keys", title: "Keys & <more>"}}
	for _, size := range []int{100, 1000, 10_000} {
		n := float64(size)
		c.add(size, []figure{{"stays", inSeconds, 0.25}, {"grows", inBytes, 1000 * n}, {"odd", inBytes, n - 100}, {"explodes", inSeconds, n * n}})
	}
	return c
}

func TestSVG(t *testing.T) {
	svg := drawn().svg()
	for _, want := range []string{`viewBox="0 0 720 300"`, `role="img"`, `<title id="t">Keys &amp; &lt;more&gt;, from 100 to 10,000: stays 250 ms to 250 ms;`, ">10,000</text>", ">10.0 MB</text>", "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || len(svg) > 6000 {
		t.Errorf("%d bytes: %s", len(svg), svg)
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoints(t *testing.T) {
	c := drawn()
	places := make([][]point, len(c.lines))
	for i, l := range c.lines {
		places[i] = c.points(l)
		for _, p := range places[i] {
			if p.x < panelLeft || p.x > panelRight || p.y < panelTop || p.y > panelBottom {
				t.Errorf("%s: %v is outside", l.name, p)
			}
		}
	}
	stays, grows, odd, explodes := places[0], places[1], places[2], places[3]
	if stays[0].y != stays[2].y || math.Abs(stays[0].y-(panelTop+panelBottom)/2) > 1e-9 {
		t.Errorf("a figure that stays is not a line across the middle: %v", stays)
	}
	if rise := grows[0].y - grows[2].y; math.Abs(rise-(panelBottom-panelTop)/(1+2*margin)) > 1e-9 || math.Abs(explodes[0].y-explodes[2].y-rise) > 1e-9 {
		t.Errorf("proportional growth rises by %v", rise)
	}
	if len(odd) != 2 {
		t.Errorf("zero is drawn: %v", odd)
	}
}

// TestOneSize: one size has no line, and its panels are drawn all the same.
func TestOneSize(t *testing.T) {
	c := &curve{part: part{title: "Keys"}}
	c.add(7, []figure{{"start", inSeconds, 1}})
	if svg := c.svg(); strings.Contains(svg, "polyline") || strings.Contains(svg, "NaN") || !strings.Contains(svg, "<circle") {
		t.Error(svg)
	}
}
