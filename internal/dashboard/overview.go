package dashboard

func overviewRoutes() []route {
	return []route{{pattern: "GET /{$}", who: members, serve: (*visit).overview}}
}

// overviewData is the first page.
type overviewData struct {
	Networks []Network
}

func (v *visit) overview() error {
	return v.show("overview", overviewData{Networks: v.cfg.Networks()})
}
