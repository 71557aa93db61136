package account

import "github.com/nodegate/nodegate"

// FieldProblem is what is wrong with one field of a key's name and settings.
type FieldProblem struct {
	Field string // as forms name it: "methods"
	Msg   string
}

// KeyProblems lists everything that is wrong with a name and settings, a problem for each
// field at most. Each field is held against UpdateKey's rules by itself, so a form can
// mark all that need work at once.
func (s *apiKeys) KeyProblems(a *nodegate.Account, name string, all, before nodegate.KeySettings) (list []FieldProblem) {
	for _, f := range []struct {
		field, name string
		only        nodegate.KeySettings
	}{
		{field: "name", name: name},
		{field: "service", only: nodegate.KeySettings{Services: all.Services}},
		{field: "networks", only: nodegate.KeySettings{Networks: all.Networks}},
		{field: "methods", only: nodegate.KeySettings{Methods: all.Methods}},
		{field: "addresses", only: nodegate.KeySettings{Addresses: all.Addresses}},
		{field: "origins", only: nodegate.KeySettings{Origins: all.Origins}},
		{field: "user_agents", only: nodegate.KeySettings{UserAgents: all.UserAgents}},
		{field: "credits_per_second", only: nodegate.KeySettings{CreditsPerSecond: all.CreditsPerSecond}},
		{field: "credits_per_day", only: nodegate.KeySettings{CreditsPerDay: all.CreditsPerDay}},
		{field: "expires", only: nodegate.KeySettings{Expires: all.Expires}},
	} {
		if err := s.checkSettings(a, f.name, &f.only, before); err != nil {
			list = append(list, FieldProblem{Field: f.field, Msg: nodegate.AsError(err).Msg})
		}
	}
	return list
}
