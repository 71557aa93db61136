package dashboard

import (
	"html/template"
	"math"
	"strconv"
)

// change is a figure against the same figure of as much time before. Nothing is said where
// there is nothing to compare with.
func change(now, before int64) template.HTML {
	if before <= 0 {
		return ""
	}
	percent := 100 * (float64(now) - float64(before)) / float64(before)
	text := "same as before"
	switch rounded := math.Round(percent); {
	case rounded > 999:
		text = "over 10 times as many"
	case rounded > 0:
		text = strconv.Itoa(int(rounded)) + " % more"
	case rounded < 0:
		text = strconv.Itoa(int(-rounded)) + " % less"
	}
	return template.HTML(`<span class="change" title="Compared with the preceding period, without the step in progress">` + text + `</span>`)
}
