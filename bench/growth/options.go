package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what to measure, and how long.
type options struct {
	of       []part
	sizes    map[string][]int // by the name of the curve
	lasts    time.Duration    // of one measurement
	svg, dir string
	ledger   ledgerOptions
}

// part is one curve: what grows, and how it is measured.
type part struct {
	name  string // in -of, of its flag and its file
	noun  string // what the sizes count
	title string
	sizes string // by default

	measure func(context.Context, *options, *curve) error
}

func parts() []part {
	return []part{
		{"keys", "keys", "API keys", "1000,10000,100000", each(measureKeys)},
		{"accounts", "accounts", "Accounts", "1000,10000,100000", each(measureAccounts)},
		{"sockets", "sockets", "WebSockets with a subscription", "100,1000,10000", each(measureSockets)},
		{"usage", "rows", "Usage rows", "10000,100000,1000000", each(measureUsage)},
		{"blocks", "blocks", "Stored blocks", "1000,10000,100000", each(measureBlocks)},
		{"ledger", "blocks", "Blocks of a ledger", "10000,100000,1000000", measureLedger},
	}
}

// each measures a curve one size at a time.
func each(at func(context.Context, *options, int) ([]figure, error)) func(context.Context, *options, *curve) error {
	return func(ctx context.Context, o *options, c *curve) error {
		for _, size := range o.sizes[c.name] {
			progress("%s %s", grouped(size), c.noun)
			figures, err := at(ctx, o, size)
			if err != nil {
				return fmt.Errorf("%s %s: %w", grouped(size), c.noun, err)
			}
			c.add(size, figures)
		}
		return nil
	}
}

func parseFlags(args []string) (*options, error) {
	o := &options{sizes: map[string][]int{}}
	f := flag.NewFlagSet("growth", flag.ExitOnError)
	of := f.String("of", "", "curves to measure, separated by commas; all by default")
	f.DurationVar(&o.lasts, "d", 3*time.Second, "how long to measure each kind of request")
	f.StringVar(&o.svg, "svg", "", "folder for a drawing of each curve")
	f.StringVar(&o.dir, "dir", "", "folder for the data; a temporary one by default. A ledger of a million blocks of 10 transactions takes 4 GB")
	o.ledger.flags(f)
	lists := map[string]*string{}
	for _, p := range parts() {
		lists[p.name] = f.String(p.name, p.sizes, "sizes for "+p.name+", ascending")
	}
	_ = f.Parse(args) // exits on an error
	for name, list := range lists {
		sizes, err := parseSizes(*list)
		if err != nil {
			return nil, fmt.Errorf("-%s: %w", name, err)
		}
		o.sizes[name] = sizes
	}
	var err error
	o.of, err = choose(*of)
	return o, err
}

// parseSizes reads a list of numbers that ascends.
func parseSizes(list string) (sizes []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%q is not a size: use whole numbers above zero, separated by commas", text)
		}
		if len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, errors.New("the sizes must ascend")
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// choose finds curves by their names. No name is all of them.
func choose(names string) (list []part, err error) {
	all := parts()
	if names == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no curve is named %q", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// inFolder gives a measurement its own folder, which is removed at its end.
func inFolder(o *options, do func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(o.dir, "nodegate-growth")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return do(dir)
}
