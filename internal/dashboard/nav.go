package dashboard

import "strings"

// navItem is one entry of the menu.
type navItem struct {
	Path, Name, Icon string
	Here             bool
}

// navGroup are the entries under one heading.
type navGroup struct {
	Name  string
	Items []navItem
}

// menu is what a signed-in account finds on every page, in this order.
var menu = []struct {
	name  string
	who   access
	items []navItem
}{
	{"Build", members, []navItem{{Path: "/", Name: "Overview", Icon: "home"}, {Path: "/keys", Name: "API keys", Icon: "key"}, {Path: "/try", Name: "Playground", Icon: "prompt"}, {Path: "/files", Name: "Files", Icon: "folder"}}},
	{"Monitor", members, []navItem{{Path: "/usage", Name: "Usage", Icon: "chart"}, {Path: "/requests", Name: "Requests", Icon: "list"}}},
	{"Account", members, []navItem{{Path: "/billing", Name: "Billing", Icon: "card"}, {Path: "/account", Name: "Settings", Icon: "gear"}}},
	{"Operate", operators, []navItem{
		{Path: "/operator", Name: "Networks", Icon: "nodes"}, {Path: "/operator/traffic", Name: "Traffic", Icon: "chart"}, {Path: "/operator/accounts", Name: "Accounts", Icon: "people"},
		{Path: "/operator/audit", Name: "Audit log", Icon: "log"}, {Path: "/operator/system", Name: "System", Icon: "pulse"},
	}},
}

// tabPaths are the pages that a phone has at the bottom of its screen.
var tabPaths = []string{"/", "/keys", "/usage", "/requests"}

// nav is the menu for who is signed in; a stranger has none.
func (v *visit) nav() (groups []navGroup) {
	if v.account == nil {
		return nil
	}
	here := menuPath(v.req.URL.Path)
	for _, g := range menu {
		if g.who == operators && !v.account.Operator {
			continue
		}
		group := navGroup{Name: g.name}
		for _, m := range g.items {
			if m.Path == "/files" && v.cfg.Files == nil {
				continue
			}
			m.Here = m.Path == here
			group.Items = append(group.Items, m)
		}
		groups = append(groups, group)
	}
	return groups
}

// tabs are the entries of the menu for the bottom of a phone's screen.
func tabs(groups []navGroup) (items []navItem) {
	for _, path := range tabPaths {
		for _, g := range groups {
			for _, m := range g.Items {
				if m.Path == path {
					items = append(items, m)
				}
			}
		}
	}
	return items
}

// menuPath is the entry that an address belongs to: the longest that it is within.
func menuPath(address string) (longest string) {
	for _, g := range menu {
		for _, m := range g.items {
			if within(address, m.Path) && len(m.Path) > len(longest) {
				longest = m.Path
			}
		}
	}
	return longest
}

// within tells whether an address is a page or one below it.
func within(address, page string) bool {
	return address == page || page != "/" && strings.HasPrefix(address, page+"/")
}

// initials stand for an account in the corner of the page.
func initials(email string) string {
	name, _, _ := strings.Cut(email, "@")
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("._-+", r) })
	letters := ""
	for _, p := range parts[:min(len(parts), 2)] {
		letters += string([]rune(p)[:1])
	}
	return strings.ToUpper(letters)
}
