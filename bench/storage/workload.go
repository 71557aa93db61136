package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// workload is one row: the same requests to each contestant.
type workload struct {
	name, unit string
	units      float64 // in each request
	conns      int
	requests   int
	goals      goals
	prepare    func(t *target) error // not measured; nil needs none
	one        func(t *target, c *conn, n int) error
}

// goals are what a row should reach; zero is no goal.
type goals struct {
	aim      float64 // units a second over plain HTTP
	times    float64 // Kubo's speed
	cpuTimes float64 // at most so much of Kubo's processor time
}

const (
	connections = 8
	manyFiles   = 2000 // in one multipart

	kuboDefaults = ""
	rawLeaves    = "cid-version=1&chunker=size-1048576"
)

func workloads(o *options) []workload {
	s := newSource()
	mb := float64(o.size) / 1e6
	large := fmt.Sprintf("%d MiB", o.size>>20)
	return []workload{
		{name: "add " + large, unit: "MB/s", units: mb, goals: goals{aim: 350, times: 1.5, cpuTimes: 0.6}, conns: 1, requests: 1, one: s.addLarge(o, kuboDefaults)},
		{name: "add " + large + ", v1, 1 MiB chunks", unit: "MB/s", units: mb, goals: goals{aim: 350, times: 1.5, cpuTimes: 0.6}, conns: 1, requests: 1, one: s.addLarge(o, rawLeaves)},
		{name: "add 2,000 x 4 KiB, one multipart", unit: "files/s", units: manyFiles, goals: goals{times: 10}, conns: 1, requests: 1, one: s.addMany},
		{name: "add 4 KiB, 8 connections", unit: "adds/s", units: 1, goals: goals{aim: 3000, times: 5}, conns: connections, requests: o.small, one: s.addSmall},
		{name: "cat " + large, unit: "MB/s", units: mb, goals: goals{aim: 1000, times: 3}, conns: 1, requests: 1, prepare: s.haveLarge(o, kuboDefaults), one: catLarge(o, kuboDefaults)},
		{name: "cat " + large + ", v1, 1 MiB chunks", unit: "MB/s", units: mb, goals: goals{aim: 1000, times: 3}, conns: 1, requests: 1, prepare: s.haveLarge(o, rawLeaves), one: catLarge(o, rawLeaves)},
		{name: "cat 4 KiB, 8 connections", unit: "cats/s", units: 1, conns: connections, requests: o.small, prepare: s.haveSmall(o), one: catSmall},
		{name: "pin/rm, 8 connections", unit: "pins/s", units: 1, goals: goals{times: 5}, conns: connections, requests: o.small, prepare: s.fill(o.small, "pin=true"), one: pin("pin/rm")},
		{name: "pin/add, 8 connections", unit: "pins/s", units: 1, conns: connections, requests: o.small, prepare: s.fill(o.small, "pin=false"), one: pin("pin/add")},
	}
}

func chosen(list []workload, o *options) (kept []workload) {
	for _, w := range list {
		if o.wants(w.name) {
			kept = append(kept, w)
		}
	}
	return kept
}

// add uploads and returns the CIDs of the files.
func add(c *conn, query string, u *upload) ([]string, error) {
	var answer bytes.Buffer
	if err := c.post("add?"+query, u, &answer); err != nil {
		return nil, err
	}
	var cids []string
	for lines := json.NewDecoder(&answer); ; {
		var line struct{ Hash string }
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || line.Hash == "" {
			return nil, fmt.Errorf("a line of the answer has no CID: %v", err)
		}
		cids = append(cids, line.Hash)
	}
	if len(cids) != u.files {
		return nil, fmt.Errorf("%d files were sent and %d CIDs came back", u.files, len(cids))
	}
	return cids, nil
}

func (s *source) addLarge(o *options, query string) func(*target, *conn, int) error {
	return func(t *target, c *conn, _ int) error {
		cids, err := add(c, query, s.new(1, o.size))
		if err != nil {
			return err
		}
		if t.large == nil {
			t.large = map[string]string{}
		}
		t.large[query] = cids[0]
		return nil
	}
}

func (s *source) addMany(_ *target, c *conn, _ int) error {
	_, err := add(c, "", s.new(manyFiles, smallFile))
	return err
}

func (s *source) addSmall(_ *target, c *conn, _ int) error {
	_, err := add(c, "", s.new(1, smallFile))
	return err
}

// haveLarge makes sure that there is a large file to read.
func (s *source) haveLarge(o *options, query string) func(*target) error {
	return func(t *target) error {
		if t.large[query] != "" {
			return nil
		}
		c := newConn(t)
		defer c.close()
		return s.addLarge(o, query)(t, c, 0)
	}
}

func catLarge(o *options, query string) func(*target, *conn, int) error {
	return func(t *target, c *conn, _ int) error { return cat(c, t.large[query], o.size) }
}

func cat(c *conn, id string, want int64) error {
	var got counter
	if err := c.post("cat?arg="+id, nil, &got); err != nil {
		return err
	}
	if int64(got) != want {
		return fmt.Errorf("cat sent %d bytes of %d", got, want)
	}
	return nil
}

// counter counts what is written to it.
type counter int64

func (n *counter) Write(b []byte) (int, error) {
	*n += counter(len(b))
	return len(b), nil
}

// fill adds small files that the round works on.
func (s *source) fill(count int, query string) func(*target) error {
	return func(t *target) error {
		t.cids = nil
		c := newConn(t)
		defer c.close()
		for left := count; left > 0; left -= manyFiles {
			cids, err := add(c, query, s.new(min(left, manyFiles), smallFile))
			if err != nil {
				return err
			}
			t.cids = append(t.cids, cids...)
		}
		return nil
	}
}

// haveSmall makes sure that there are small files to read; they serve every round.
func (s *source) haveSmall(o *options) func(*target) error {
	return func(t *target) error {
		if len(t.small) > 0 {
			return nil
		}
		err := s.fill(o.small, "pin=true")(t)
		t.small = t.cids
		return err
	}
}

func catSmall(t *target, c *conn, n int) error { return cat(c, t.small[n], smallFile) }

func pin(command string) func(*target, *conn, int) error {
	return func(t *target, c *conn, n int) error { return c.post(command+"?arg="+t.cids[n], nil, io.Discard) }
}

// checkAll makes sure that the contestants do the same work: the same content has
// the same CID everywhere and comes back as it was.
func checkAll(list []*target) error {
	u := newSource().new(1, 3<<20+12345)
	var body bytes.Buffer
	_ = u.writeTo(&body) // a buffer takes everything
	for _, query := range []string{kuboDefaults, rawLeaves} {
		want := ""
		for _, t := range list {
			id, err := check(t, query, u, body.Bytes())
			if err == nil && want != "" && id != want {
				err = fmt.Errorf("the CID is %s, elsewhere %s", id, want)
			}
			if err != nil {
				return fmt.Errorf("%s: add?%s: %w", t.name, query, err)
			}
			want = id
		}
	}
	return nil
}

func check(t *target, query string, u *upload, body []byte) (string, error) {
	c := newConn(t)
	defer c.close()
	cids, err := add(c, query, u)
	if err != nil {
		return "", err
	}
	var content bytes.Buffer
	if err := c.post("cat?arg="+cids[0], nil, &content); err != nil {
		return "", err
	}
	if int64(content.Len()) != u.length || !bytes.Contains(body, content.Bytes()) {
		return "", errors.New("cat sends other bytes than were added")
	}
	return cids[0], nil
}
