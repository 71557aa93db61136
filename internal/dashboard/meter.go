package dashboard

import "github.com/nodegate/nodegate/internal/accounts/usage/report"

// meterView is a figure against its limit.
type meterView struct {
	Title, Used, Limit string
	report.Share
}

// meters are what an account has used of its plan, as every page shows it.
func meters(s *report.Standing) []meterView {
	list := []meterView{{Title: "Credits today", Share: s.Credits}, {Title: "Stored now", Share: s.Stored}, {Title: "Transfer this month", Share: s.Moved}}
	for i := range list {
		form := byteSize
		if i == 0 {
			form = number
		}
		list[i].Used, list[i].Limit = form(list[i].Share.Used), form(list[i].Share.Limit)
	}
	return list
}

// limitText is a limit of a plan; zero is none.
func limitText(n int64) string {
	if n == 0 {
		return "no limit"
	}
	return number(n)
}
