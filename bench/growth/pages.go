package main

import (
	"net/url"
	"slices"
	"time"

	"github.com/nodegate/nodegate/bench/visitor"
)

const (
	pageRounds   = 9
	signInRounds = 5 // what an account may try in a minute
)

// signIn signs the operator in.
func signIn(p *started) (*visitor.Visitor, error) {
	return visitor.SignIn(p.RPC, operatorEmail, operatorPassword)
}

// page is a page under the name of its figure.
type page struct{ name, path string }

// pageFigures are the medians of the times of pages.
func pageFigures(v *visitor.Visitor, pages []page) (list []figure, err error) {
	for _, p := range pages {
		f, err := medianTime(p.name, pageRounds, func() error {
			_, _, err := v.Get(p.path)
			return err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// medianTime repeats something and measures each time.
func medianTime(name string, rounds int, do func() error) (figure, error) {
	var times []time.Duration
	for range rounds {
		begin := time.Now()
		if err := do(); err != nil {
			return figure{}, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return figure{name, inSeconds, times[len(times)/2].Seconds()}, nil
}

// accountPages measures what operators see of so many accounts.
func accountPages(s serving, accounts int) (list []figure, err error) {
	err = s.with(func(p *started) error {
		var v *visitor.Visitor
		entry, err := medianTime("sign-in", signInRounds, func() (err error) {
			v, err = signIn(p)
			return err
		})
		if err != nil {
			return err
		}
		list, err = pageFigures(v, []page{
			{"Accounts page", "/operator/accounts"},
			{"Accounts page, search for one", "/operator/accounts?q=" + url.QueryEscape(memberEmail(accounts-1))},
		})
		list = slices.Concat([]figure{entry}, list)
		return err
	})
	return list, err
}
