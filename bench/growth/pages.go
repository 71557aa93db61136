package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	pageRounds   = 9
	signInRounds = 5 // what an account may try in a minute
)

// visitor is a person who is signed in to the dashboard.
type visitor struct{ base, cookie string }

// signIn signs the operator in.
func signIn(base string) (*visitor, error) {
	form := url.Values{"email": {operatorEmail}, "password": {operatorPassword}}.Encode()
	req, err := http.NewRequest(http.MethodPost, base+"/login", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	v := &visitor{base: base}
	for _, c := range res.Cookies() {
		v.cookie += c.Name + "=" + c.Value + "; "
	}
	if res.StatusCode != http.StatusSeeOther || v.cookie == "" {
		return nil, fmt.Errorf("no session: %s", res.Status)
	}
	return v, nil
}

// get loads a page.
func (v *visitor) get(path string) error {
	req, err := http.NewRequest(http.MethodGet, v.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Cookie", v.cookie)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return nil
}

// page is a page under the name of its figure.
type page struct{ name, path string }

// figures are the medians of the times of pages.
func (v *visitor) figures(pages []page) (list []figure, err error) {
	for _, p := range pages {
		f, err := medianTime(p.name, pageRounds, func() error { return v.get(p.path) })
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
		var v *visitor
		entry, err := medianTime("sign-in", signInRounds, func() (err error) {
			v, err = signIn(p.RPC)
			return err
		})
		if err != nil {
			return err
		}
		list, err = v.figures([]page{
			{"Accounts page", "/operator/accounts"},
			{"Accounts page, search for one", "/operator/accounts?q=" + url.QueryEscape(memberEmail(accounts-1))},
		})
		list = slices.Concat([]figure{entry}, list)
		return err
	})
	return list, err
}
