package dashboard

import (
	"html/template"
	"math"
	"strconv"
)

// change is a figure against the same figure of the period before. Nothing is said where
// there is nothing to compare with.
func change(now, before int64) template.HTML {
	if before <= 0 {
		return ""
	}
	percent := 100 * (float64(now) - float64(before)) / float64(before)
	switch rounded := math.Round(percent); {
	case rounded == 0:
		return `<span class="change">same as before</span>`
	case rounded > 999:
		return `<span class="change">over 10 times as many as before</span>`
	case rounded > 0:
		return template.HTML(`<span class="change">` + strconv.Itoa(int(rounded)) + ` % more than before</span>`)
	default:
		return template.HTML(`<span class="change">` + strconv.Itoa(int(-rounded)) + ` % less than before</span>`)
	}
}
