package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
)

// The operator whose pages are measured.
const (
	operatorEmail    = "operator@example.com"
	operatorPassword = "only for this benchmark"
)

// filled is what is in an account store.
type filled struct {
	operator string   // account
	keys     []string // of the operator where nobody else has any
	ids      []string // of these keys
	secret   string   // of the first key
	database int64    // bytes
}

// fillStore makes the account store of a server that is not running yet: an operator, and what
// do adds. Each change is a transaction that is synced, so this is done in a file system in
// memory where there is one.
func fillStore(ctx context.Context, s serving, do func(*server.Control, *filled) error) (f *filled, err error) {
	fast, err := os.MkdirTemp(memoryFolder(), "nodegate-growth")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fast)) }()
	final := s.data
	s.data = fast
	if f, err = fillIn(ctx, s, do); err != nil {
		return nil, err
	}
	return f, copyStore(final, fast)
}

// memoryFolder is where Linux has a file system in memory, or "" for the usual folder.
func memoryFolder() string {
	const usual = "/dev/shm"
	if info, err := os.Stat(usual); err == nil && info.IsDir() {
		return usual
	}
	return ""
}

func fillIn(ctx context.Context, s serving, do func(*server.Control, *filled) error) (f *filled, err error) {
	c, err := server.OpenControl(ctx, s.config(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	a, err := c.Accounts.Create(ctx, actor(), server.NewAccount{Email: operatorEmail, Password: operatorPassword, Plan: planName, Operator: true})
	if err != nil {
		return nil, err
	}
	f = &filled{operator: a.ID}
	if err := errors.Join(addCard(ctx, c, a.ID), do(c, f)); err != nil {
		return nil, err
	}
	d, err := c.Store.Database(ctx)
	f.database = d.Bytes
	return f, err
}

// addCard adds the test processor's card, without which there is no storage.
func addCard(ctx context.Context, c *server.Control, account string) error {
	_, err := c.Accounts.PutCard(ctx, actor(), nodegate.CardEntry{
		AccountID: account, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year() + 10, CVC: "123",
	})
	return err
}

func actor() nodegate.Actor { return nodegate.Actor{Name: "bench"} }

// addKey gives an account another key.
func (f *filled) addKey(ctx context.Context, c *server.Control, account string) error {
	issued, err := c.Accounts.CreateKey(ctx, actor(), account, fmt.Sprintf("key %d", len(f.keys)), nodegate.KeySettings{})
	if err != nil {
		return err
	}
	if f.secret == "" {
		f.secret = issued.Secret
	}
	f.keys, f.ids = append(f.keys, issued.Value), append(f.ids, issued.Key.ID)
	return nil
}

// addMembers adds so many keys of members, who have at most so many each.
func (f *filled) addMembers(ctx context.Context, c *server.Control, keys, each int) error {
	for i := 0; len(f.keys) < keys; i++ {
		a, err := c.Accounts.Create(ctx, actor(), server.NewAccount{Email: memberEmail(i), Plan: planName})
		if err != nil {
			return err
		}
		for range min(each, keys-len(f.keys)) {
			if err := f.addKey(ctx, c, a.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func memberEmail(i int) string { return fmt.Sprintf("member-%06d@example.com", i) }

// copyStore copies what is in a folder, for its owner only as it was, and waits until it is on
// the disk.
func copyStore(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	list, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Type().IsRegular() {
			err = errors.Join(err, keepPrivate(filepath.Join(to, e.Name())))
		}
	}
	return errors.Join(err, os.Chmod(to, 0o700))
}

func keepPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
}
