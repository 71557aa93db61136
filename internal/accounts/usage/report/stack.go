package report

import (
	"cmp"
	"slices"

	"github.com/nodegate/nodegate"
)

// MaxStacks is how many parts a plot has beside the rest.
const MaxStacks = 4

// Stack is one part of the series: the requests that have one value of a dimension. Each
// list has a figure for each point of the series.
type Stack struct {
	Name              string
	Rest              bool // the smaller parts together; Name is ""
	Requests, Credits []int64
}

// stack divides the series. The parts add up to it.
func (r *Result) stack(series []nodegate.UsageSum) {
	totals := map[string]int64{}
	for i := range series {
		totals[series[i].Group] += series[i].Requests
	}
	names := make([]string, 0, len(totals))
	for name := range totals {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	place := map[string]int{}
	for i, name := range names {
		place[name] = min(i, MaxStacks)
	}
	for i := range min(len(names), MaxStacks+1) {
		s := Stack{Name: names[i], Requests: make([]int64, len(r.Series)), Credits: make([]int64, len(r.Series))}
		if s.Rest = i == MaxStacks && len(names) > MaxStacks+1; s.Rest {
			s.Name = ""
		}
		r.Stacks = append(r.Stacks, s)
	}
	for i := range series {
		u := &series[i]
		if step := int(u.At.Sub(r.Begin) / r.Step); step >= 0 && step < len(r.Series) {
			s := &r.Stacks[place[u.Group]]
			s.Requests[step] += u.Requests
			s.Credits[step] += u.Credits
		}
	}
}
