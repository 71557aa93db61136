package chart

import (
	"math"
	"strconv"
	"strings"
)

// Unit is what values are counted in.
type Unit uint8

// The units.
const (
	Count        Unit = iota // of requests, credits, ...
	Milliseconds             // of time
	Bytes
	Percent
)

// scale is a larger unit of a value.
type scale struct {
	factor float64
	name   string
}

func (u Unit) scales() []scale {
	switch u {
	case Milliseconds:
		return []scale{{60_000, " min"}, {1000, " s"}, {1, " ms"}, {0.001, " µs"}}
	case Bytes:
		return []scale{{1 << 50, " PiB"}, {1 << 40, " TiB"}, {1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
	case Percent:
		return []scale{{1, " %"}}
	}
	return []scale{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
}

// scaleOf is the largest unit that a value has one of.
func (u Unit) scaleOf(v float64) scale {
	list := u.scales()
	for _, s := range list {
		if v >= s.factor {
			return s
		}
	}
	return list[len(list)-1]
}

// short is a value at an axis.
func (u Unit) short(v float64) string {
	if v == 0 {
		return "0"
	}
	s := u.scaleOf(v)
	return strconv.FormatFloat(v/s.factor, 'g', 4, 64) + s.name
}

// Text is a value in full, as titles and tables have it.
func (u Unit) Text(v float64) string {
	v, ok := tame(v)
	switch {
	case !ok:
		return "none"
	case u == Count:
		return grouped(v)
	case v == 0:
		return "0" + u.scaleOf(1).name
	}
	s := u.scaleOf(v)
	return strconv.FormatFloat(v/s.factor, 'f', decimals(v/s.factor), 64) + s.name
}

// decimals leaves three digits that tell something.
func decimals(v float64) int {
	switch {
	case v >= 100 || v == math.Trunc(v):
		return 0
	case v >= 10:
		return 1
	}
	return 2
}

// grouped writes a whole number with commas.
func grouped(v float64) string {
	digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// mostTicks is how many lines an axis has at most, the one at zero not counted.
const mostTicks = 5

// ticks are nice numbers from zero up to the first that is not below a value. There
// is always at least one above zero.
func (u Unit) ticks(most float64) []float64 {
	unit := u.scaleOf(most / 2).factor
	if most <= 0 {
		most = 1
	}
	step := niceStep(most/unit/mostTicks) * unit
	if u == Count || u == Bytes {
		step = max(step, 1)
	}
	list := []float64{0}
	for v := step; len(list) < mostTicks+2; v += step {
		list = append(list, v)
		if v >= most {
			break
		}
	}
	return list
}

// niceStep is the next of 1, 2, 5, 10, 20, 50, ...
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, nice := range []float64{1, 2, 5} {
		if nice*power >= v*(1-1e-9) {
			return nice * power
		}
	}
	return 10 * power
}
