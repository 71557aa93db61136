package dashboard

import "strings"

// menu is what a signed-in account finds on every page, in this order.
var menu = []struct {
	path, name string
	who        access
}{
	{"/", "Overview", members},
	{"/keys", "Keys", members},
	{"/try", "Try it", members},
	{"/usage", "Usage", members},
	{"/requests", "Requests", members},
	{"/files", "Files", members},
	{"/billing", "Billing", members},
	{"/account", "Account", members},
	{"/operator", "Operator", operators},
}

// nav is the menu for who is signed in; a stranger has none.
func (v *visit) nav() (items []navItem) {
	if v.account == nil {
		return nil
	}
	for _, m := range menu {
		if m.who == operators && !v.account.Operator || m.path == "/files" && v.cfg.Files == nil {
			continue
		}
		items = append(items, navItem{Path: m.path, Name: m.name, Here: within(v.req.URL.Path, m.path)})
	}
	return items
}

// within tells whether an address is a page or one below it.
func within(address, page string) bool {
	return address == page || page != "/" && strings.HasPrefix(address, page+"/")
}
