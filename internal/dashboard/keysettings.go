package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/method"
)

// settingsData is the form of a key's name and settings.
type settingsData struct {
	Key  *nodegate.Key
	Plan nodegate.Plan
	Form settingsForm

	Problems []settingsProblem // a problem for each field at most, in the form's order
}

// settingsProblem is what is wrong with a field.
type settingsProblem struct{ Field, Label, Msg string }

// Wrong is what is wrong with a field; "" is nothing.
func (d settingsData) Wrong(field string) string {
	for _, p := range d.Problems {
		if p.Field == field {
			return p.Msg
		}
	}
	return ""
}

// settingsFields are the fields that can be wrong, in the form's order.
var settingsFields = []string{"name", "service", "networks", "methods", "addresses", "origins", "user_agents", "credits_per_second", "credits_per_day", "expires"}

// settingsLabels are what the form calls its fields.
var settingsLabels = map[string]string{
	"name": "Name", "service": "Scopes", "networks": "Networks", "methods": "Methods", "addresses": "Contracts", "origins": "Origins", "user_agents": "Clients",
	"credits_per_second": "Credits per second", "credits_per_day": "Credits per day", "expires": "Last day",
}

// settingsForm is the form as it was typed: it comes back that way when something is wrong.
type settingsForm struct {
	Name                                    string
	SecretRequired                          bool
	KeepParams, KeepResponses               bool
	Services                                []string
	ServicesShown                           bool   // the form had boxes for them
	Networks                                string // an entry a line, as below
	Methods, Addresses, Origins, UserAgents string
	CreditsPerSecond, CreditsPerDay         string // "" is the plan's
	Expires                                 string // the last day on which the key works, UTC; "" is never
}

func keySettingsPage(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	if !k.Live() {
		return v.seeOther("/keys/" + k.ID)
	}
	return showSettings(v, http.StatusOK, settingsData{Key: k, Form: formOf(k)})
}

func showSettings(v *visit, status int, d settingsData) error {
	d.Plan = v.plan()
	return v.showStatus(status, "keysettings", d)
}

func formOf(k *nodegate.Key) settingsForm {
	s := &k.Settings
	return settingsForm{
		Name: k.Name, SecretRequired: s.SecretRequired, KeepParams: s.KeepParams, KeepResponses: s.KeepResponses,
		Services: s.Services, Networks: lines(s.Networks),
		Methods: lines(s.Methods), Addresses: lines(s.Addresses), Origins: lines(s.Origins), UserAgents: lines(s.UserAgents),
		CreditsPerSecond: ownLimit(s.CreditsPerSecond), CreditsPerDay: ownLimit(s.CreditsPerDay), Expires: lastDay(s.Expires),
	}
}

func lines(entries []string) string { return strings.Join(entries, "\n") }

// ownLimit is what the form shows; zero is the plan's.
func ownLimit(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func changeKeySettings(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	form := typedSettings(v)
	problems := problemsOf(v, k, form)
	if len(problems) == 0 {
		if err = saveSettings(v, k.ID, form); err == nil {
			return v.seeOther("/keys/" + k.ID + "/settings?done=key-settings")
		}
		problem, other := mendable(err)
		if other != nil {
			return other
		}
		problems = []settingsProblem{{Msg: problem}}
	}
	return showSettings(v, http.StatusUnprocessableEntity, settingsData{Key: k, Form: form, Problems: problems})
}

// problemsOf lists all that is wrong with the form, not only the first.
func problemsOf(v *visit, k *nodegate.Key, f settingsForm) (list []settingsProblem) {
	if !k.Live() {
		return nil // saving it says so
	}
	wrong := map[string]string{}
	if f.ServicesShown && len(f.Services) == 0 {
		wrong["service"] = "select at least one scope, or revoke the key"
	}
	limits := map[string]int64{}
	for field, text := range map[string]string{"credits_per_second": f.CreditsPerSecond, "credits_per_day": f.CreditsPerDay} {
		n, err := limitOf(text)
		if err != nil {
			wrong[field] = nodegate.AsError(err).Msg
		}
		limits[field] = n
	}
	if _, err := endOf(f.Expires); err != nil {
		wrong["expires"] = nodegate.AsError(err).Msg
	}
	settings := k.Settings
	f.apply(&settings, limits["credits_per_second"], limits["credits_per_day"])
	for _, p := range v.cfg.Accounts.KeyProblems(v.account, f.Name, settings, k.Settings) {
		wrong[p.Field] = p.Msg
	}
	for _, field := range settingsFields {
		if msg := wrong[field]; msg != "" {
			list = append(list, settingsProblem{Field: field, Label: settingsLabels[field], Msg: sentence(msg)})
		}
	}
	return list
}

func typedSettings(v *visit) settingsForm {
	field := v.req.PostFormValue
	return settingsForm{
		Name: field("name"), SecretRequired: field("secret_required") != "", KeepParams: field("keep_params") != "", KeepResponses: field("keep_responses") != "",
		Services: v.req.PostForm["service"], ServicesShown: field("services_shown") != "", Networks: field("networks"),
		Methods: field("methods"), Addresses: field("addresses"), Origins: field("origins"), UserAgents: field("user_agents"),
		CreditsPerSecond: strings.TrimSpace(field("credits_per_second")), CreditsPerDay: strings.TrimSpace(field("credits_per_day")), Expires: strings.TrimSpace(field("expires")),
	}
}

// saveSettings changes what the form has and leaves the other settings alone.
func saveSettings(v *visit, id string, f settingsForm) error {
	second, err := limitOf(f.CreditsPerSecond)
	if err != nil {
		return err
	}
	day, err := limitOf(f.CreditsPerDay)
	if err != nil {
		return err
	}
	if _, err := endOf(f.Expires); err != nil {
		return err
	}
	return v.cfg.Accounts.UpdateKey(v.req.Context(), v.actor(), v.account.ID, id, func(name *string, s *nodegate.KeySettings) {
		*name = f.Name
		f.apply(s, second, day)
	})
}

// apply puts what was typed into settings.
func (f settingsForm) apply(s *nodegate.KeySettings, perSecond, perDay int64) {
	s.SecretRequired, s.KeepParams, s.KeepResponses = f.SecretRequired, f.KeepParams, f.KeepResponses
	if f.ServicesShown {
		s.Services = f.chosenServices()
	}
	s.Networks = entries(f.Networks)
	s.Methods, s.Addresses, s.Origins, s.UserAgents = entries(f.Methods), entries(f.Addresses), entries(f.Origins), entries(f.UserAgents)
	s.CreditsPerSecond, s.CreditsPerDay = perSecond, perDay
	if f.Expires != lastDay(s.Expires) { // a time that was set on the command line stays
		s.Expires, _ = endOf(f.Expires) // what can't be read was refused
	}
}

// lastDay is the last day on which a key works, in part at least.
func lastDay(expires time.Time) string {
	if expires.IsZero() {
		return ""
	}
	return expires.UTC().Add(-time.Second).Format(time.DateOnly)
}

// endOf is when a day is over, UTC; zero for none.
func endOf(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return t, &nodegate.Error{Op: "dashboard.expires", Code: nodegate.InvalidInput, Msg: "enter a day like 2027-01-31, or leave it empty if the key should never expire", Err: err}
	}
	return t.AddDate(0, 0, 1), nil
}

// service is a box of the form.
type service struct {
	Name, Text string
	On         bool
}

// ServiceBoxes are the services, all ticked where the key isn't limited.
func (f settingsForm) ServiceBoxes() []service {
	boxes := []service{
		{Name: nodegate.ServiceRPC, Text: "JSON-RPC"},
		{Name: nodegate.ServiceStorage, Text: "Storage"},
		{Name: nodegate.ServiceDevelopment, Text: "Development methods (" + method.EVMMine + " and others)"},
	}
	for i, b := range boxes {
		boxes[i].On = len(f.Services) == 0 || slices.Contains(f.Services, b.Name)
	}
	return boxes
}

// chosenServices is empty, which allows all, when every box is ticked.
func (f settingsForm) chosenServices() []string {
	if len(f.Services) == len(settingsForm{}.ServiceBoxes()) {
		return nil
	}
	return f.Services
}

// entries are the lines of a textarea that are not empty.
func entries(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func limitOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, &nodegate.Error{Op: "dashboard.limit", Code: nodegate.InvalidInput, Msg: "enter a whole number of credits, or leave the limit empty to use the plan's"}
	}
	return n, nil
}

// rotateData is the page where a key is made new or ended.
type rotateData struct {
	Key           *nodegate.Key
	Value, Secret bool
	Overlap       string
	Overlaps      []overlap
	Problem       string // of the rotation
	RevokeProblem string
}

// overlap is a choice of how long the old ones still work.
type overlap struct{ Value, Name string }

var overlaps = []overlap{{"0s", "no longer: end them now"}, {"1h", "for an hour"}, {"24h", "for 24 hours"}, {"168h", "for 7 days"}}

func rotatePage(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	if !k.Live() {
		return v.seeOther("/keys/" + k.ID)
	}
	return showRotation(v, http.StatusOK, rotateData{Key: k, Value: true, Secret: true, Overlap: "24h"})
}

func showRotation(v *visit, status int, d rotateData) error {
	d.Overlaps = overlaps
	return v.showStatus(status, "keyrotate", d)
}

func rotateKey(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	d := rotateData{Key: k, Value: v.req.PostFormValue("value") != "", Secret: v.req.PostFormValue("secret") != "", Overlap: v.req.PostFormValue("overlap")}
	issued, err := rotate(v, d)
	if err == nil {
		return toIssued(v, issued, true)
	}
	if d.Problem, err = mendable(err); err != nil {
		return err
	}
	return showRotation(v, http.StatusUnprocessableEntity, d)
}

func rotate(v *visit, d rotateData) (*account.IssuedKey, error) {
	length, err := time.ParseDuration(d.Overlap)
	if err != nil {
		return nil, &nodegate.Error{Op: "dashboard.rotate", Code: nodegate.InvalidInput, Msg: "choose how long the old values still work"}
	}
	return v.cfg.Accounts.RotateKey(v.req.Context(), v.actor(), v.account.ID, d.Key.ID, account.Rotation{Value: d.Value, Secret: d.Secret, Overlap: length})
}

func revokeKey(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	if v.req.PostFormValue("sure") == "" && k.Live() {
		return showRotation(v, http.StatusUnprocessableEntity, rotateData{Key: k, Value: true, Secret: true, Overlap: "24h", RevokeProblem: "Check the box to confirm."})
	}
	if err := v.cfg.Accounts.RevokeKey(v.req.Context(), v.actor(), v.account.ID, k.ID); err != nil {
		return err
	}
	return v.seeOther("/keys?done=revoked")
}
