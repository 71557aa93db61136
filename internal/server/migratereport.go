package server

import (
	"context"

	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// movedKinds are the tables whose rows are counted in a report, by what users call them.
// Other tables hold parts and sums of these.
func movedKinds() []struct {
	kind   string
	tables []string
} {
	return []struct {
		kind   string
		tables []string
	}{
		{"accounts", []string{"accounts"}},
		{"API keys", []string{"keys"}},
		{"sessions", []string{"sessions"}},
		{"links", []string{"links"}},
		{"usage rows", []string{"usage_minute", "usage_hour", "usage_day"}},
		{"audit entries", []string{"audit"}},
		{"pin requests", []string{"pin_requests"}},
	}
}

func (m *migration) report(dryRun bool) *MigrateReport {
	return &MigrateReport{
		From: m.from.Data, To: sqlstore.PostgresTarget(string(m.to.Store.Postgres)), DryRun: dryRun, Moved: []MovedKind{}, Notes: m.notes(),
	}
}

// fill counts by kind.
func (m *migration) fill(ctx context.Context, r *MigrateReport, rows []sqlstore.Moved) error {
	count := map[string]int64{}
	for _, one := range rows {
		count[one.Table] = one.Rows
	}
	for _, k := range movedKinds() {
		n := int64(0)
		for _, table := range k.tables {
			n += count[table]
		}
		r.Moved = append(r.Moved, MovedKind{k.kind, n})
	}
	cards, err := m.source.Store.Cards(ctx)
	if err != nil {
		return err
	}
	r.Moved = append(r.Moved, MovedKind{"cards", cards}, MovedKind{"pins", m.content.pins}, MovedKind{"bytes of content", m.content.bytes})
	return nil
}

// notes say what stays where it is.
func (m *migration) notes() []string {
	list := append([]string{}, m.content.notes...)
	if sameFolder(m.from.Data, m.to.Data) {
		return list
	}
	if has(m.from.Data, "networks") && len(embeddedNames(m.from)) > 0 {
		list = append(list, "embedded networks stay in "+m.from.Data+": to keep their chains, use this folder as data in the new configuration")
	}
	if has(m.from.Data, "ca.pem") {
		list = append(list, "the local certificate authority stays in "+m.from.Data+": copy ca.pem and ca-key.pem to "+m.to.Data+" if clients trust it")
	}
	return list
}
