package dashboard

// meterView is a figure against its limit.
type meterView struct {
	Title, Used, Limit string
	Limited            bool
	Percent            int64 // of the limit, at most 100
}

// gauge makes a meter of a number, or of a size where unit is "bytes".
func gauge(title string, used, most int64, unit string) meterView {
	form := number
	if unit == "bytes" {
		form = byteSize
	}
	m := meterView{Title: title, Used: form(used), Limit: form(most), Limited: most > 0}
	if m.Limited {
		m.Percent = min(100, int64(float64(max(used, 0))/float64(most)*100))
	}
	return m
}

// limitText is a limit of a plan; zero is none.
func limitText(n int64) string {
	if n == 0 {
		return "no limit"
	}
	return number(n)
}
