package method

import (
	"maps"
	"slices"
)

// rows are all methods in the order in which they are documented.
var rows = slices.Concat(
	storageRows, transactionRows, receiptRows, callRows, chainRows, accountRows, sendRows, feeRows, simulationRows,
	filterRows, subscriptionRows, nodeRows, debugRows, traceRows, otsRows, developmentRows,
)

// table finds rows by name. It is read and never written.
var table = index(rows)

// unknown is the row of every method that has none.
var unknown = &Row{Rules: Rules{Kind: Other}, Block: None}

func index(rows []Row) map[string]*Row {
	table := make(map[string]*Row, len(rows))
	for i := range rows {
		rows[i].findBlock()
		table[rows[i].Name] = &rows[i]
	}
	return table
}

// Of looks a method up. The row of an unknown method has no name. Nobody may change a row.
func Of(name string) *Row {
	if r, ok := table[name]; ok {
		return r
	}
	return unknown
}

// All are the rows in the order in which they are documented.
func All() []*Row {
	list := make([]*Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	return list
}

// Names are all methods of the table, in order.
func Names() []string { return slices.Sorted(maps.Keys(table)) }

// NamesOf are the methods whose rows fit, in the order in which they are documented.
func NamesOf(fits func(*Row) bool) (names []string) {
	for i := range rows {
		if fits(&rows[i]) {
			names = append(names, rows[i].Name)
		}
	}
	return names
}

// Counted are the methods that metrics and usage tell apart.
func Counted() []string { return NamesOf(func(r *Row) bool { return r.Counted }) }

// maxName is longer than any method's name.
const maxName = 64

// Set is a set of methods. It is asked about every request, and faster than a map: few
// names are equally long.
type Set [maxName][]string

// SetOf is the set of the methods whose rows fit.
func SetOf(fits func(*Row) bool) *Set {
	s := new(Set)
	for _, name := range NamesOf(fits) {
		s[len(name)] = append(s[len(name)], name)
	}
	return s
}

// Has tells whether a method is in the set.
func (s *Set) Has(name string) bool {
	if len(name) >= maxName {
		return false
	}
	for _, n := range s[len(name)] {
		if n == name {
			return true
		}
	}
	return false
}
