package uploads

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func load(t *testing.T, dir string, c *clock) *Uploads {
	t.Helper()
	u, err := Load(Config{Dir: dir, MaxSize: 1000, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func begin(t *testing.T, u *Uploads, account, name string, size, limit int64) Upload {
	t.Helper()
	up, err := u.Begin(Upload{AccountID: account, Name: name, Size: size}, limit)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

func is(t *testing.T, what string, err error, want nodegate.Code) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func files(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// broken is a part whose connection breaks after some bytes.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// A file comes in parts, across a broken connection and a restart, and is read whole.
func TestParts(t *testing.T) {
	dir, c := t.TempDir()+"/uploads", &clock{time.Unix(1_800_000_000, 0)}
	u, ctx := load(t, dir, c), t.Context()
	up := begin(t, u, "a", "f", 10, -1)
	if n, err := u.Append(ctx, "a", up.ID, 0, strings.NewReader("0123")); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := u.Append(ctx, "a", up.ID, 4, broken{strings.NewReader("45")}); n != 6 || err == nil {
		t.Fatalf("a part that breaks off: %d, %v", n, err)
	}
	n, err := u.Append(ctx, "a", up.ID, 4, strings.NewReader("4567"))
	is(t, "a part at another place", err, nodegate.Conflict)
	if n != 6 {
		t.Errorf("%d have arrived, want 6", n)
	}
	is(t, "reading what isn't whole", u.Read("a", up.ID, nil), nodegate.Conflict)

	u = load(t, dir, c)
	if again := begin(t, u, "a", "f", 10, 0); again.ID != up.ID || again.Received != 6 {
		t.Fatalf("after a restart: %+v", again)
	}
	n, err = u.Append(ctx, "a", up.ID, 6, strings.NewReader("6789 and more"))
	is(t, "too much", err, nodegate.InvalidInput)
	if n != 10 {
		t.Errorf("%d have arrived, want 10", n)
	}
	refused := errors.New("refused")
	if err := u.Read("a", up.ID, func(Upload, io.Reader) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a use that fails: %v", err)
	}
	var got []byte
	if err := u.Read("a", up.ID, func(_ Upload, file io.Reader) (err error) {
		got, err = io.ReadAll(file)
		return err
	}); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	is(t, "reading again", u.Read("a", up.ID, nil), nodegate.NotFound)
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// Uploads are their account's alone.
func TestForeign(t *testing.T) {
	u := load(t, t.TempDir(), &clock{time.Unix(1_800_000_000, 0)})
	up := begin(t, u, "a", "f", 4, -1)
	_, err := u.Append(t.Context(), "b", up.ID, 0, strings.NewReader("evil"))
	is(t, "append", err, nodegate.NotFound)
	is(t, "read", u.Read("b", up.ID, nil), nodegate.NotFound)
	is(t, "remove", u.Remove("b", up.ID), nodegate.NotFound)
	is(t, "no id at all", u.Remove("a", "../x"), nodegate.NotFound)
	if other := begin(t, u, "b", "f", 4, -1); other.ID == up.ID {
		t.Error("two accounts share an upload")
	}
	if list := u.List("b"); len(list) != 1 || list[0].AccountID != "b" {
		t.Errorf("%+v", list)
	}
}

// What an account may store bounds its unfinished uploads, and there are only so many.
func TestBounds(t *testing.T) {
	u := load(t, t.TempDir(), &clock{time.Unix(1_800_000_000, 0)})
	wanted := func(account, name string, size, limit int64) error {
		_, err := u.Begin(Upload{AccountID: account, Name: name, Size: size}, limit)
		return err
	}
	is(t, "no size", wanted("a", "f", 0, -1), nodegate.InvalidInput)
	is(t, "a long name", wanted("a", strings.Repeat("x", 256), 1, -1), nodegate.InvalidInput)
	is(t, "a large file", wanted("a", "f", 1001, -1), nodegate.TooLarge)
	first := begin(t, u, "a", "one", 60, 100)
	is(t, "two that don't fit together", wanted("a", "two", 50, 100), nodegate.QuotaReached)
	begin(t, u, "b", "two", 50, 100)
	if err := u.Remove("a", first.ID); err != nil {
		t.Fatal(err)
	}
	begin(t, u, "a", "two", 50, 100)
	for i := range PerAccount - 1 {
		begin(t, u, "a", strings.Repeat("n", i+1), 1, -1)
	}
	is(t, "one too many", wanted("a", "another", 1, -1), nodegate.Busy)
	if err := wanted("a", "two", 50, 100); err != nil {
		t.Errorf("one that is there: %v", err)
	}
}

// Parts stay an hour after the last of them; then their space is free again.
func TestExpiry(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Unix(1_800_000_000, 0)}
	u := load(t, dir, c)
	up := begin(t, u, "a", "f", 10, -1)
	c.at = c.at.Add(59 * time.Minute)
	if _, err := u.Append(t.Context(), "a", up.ID, 0, strings.NewReader("01")); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(59 * time.Minute)
	if u.Expire(); len(u.List("a")) != 1 {
		t.Fatal("gone within the hour")
	}
	c.at = c.at.Add(time.Minute)
	_, err := u.Append(t.Context(), "a", up.ID, 2, strings.NewReader("23"))
	is(t, "after the hour", err, nodegate.NotFound)
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
	begin(t, u, "a", "f", 10, -1)
	c.at = c.at.Add(2 * time.Hour)
	if u = load(t, dir, c); len(u.List("a")) != 0 || files(t, dir) != 0 {
		t.Error("a restart keeps what has expired")
	}
}

// At a start, what is no whole upload is removed, and what a crash left behind the last
// confirmed part is cut off.
func TestLeftovers(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Unix(1_800_000_000, 0)}
	u := load(t, dir, c)
	up := begin(t, u, "a", "f", 10, -1)
	if _, err := u.Append(t.Context(), "a", up.ID, 0, strings.NewReader("0123")); err != nil {
		t.Fatal(err)
	}
	short := begin(t, u, "a", "short", 10, -1)
	if _, err := u.Append(t.Context(), "a", short.ID, 0, strings.NewReader("0123")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(up.ID, "0123garbage")
	write(short.ID, "0")
	write("norecord", "x")
	write("broken.json", "{")
	write("other.json-123", "{}")
	u = load(t, dir, c)
	if list := u.List("a"); len(list) != 1 || list[0].ID != up.ID || list[0].Received != 4 || files(t, dir) != 2 {
		t.Fatalf("%+v, %d files", list, files(t, dir))
	}
	if _, err := u.Append(t.Context(), "a", up.ID, 4, strings.NewReader("456789")); err != nil {
		t.Fatal(err)
	}
	if err := u.Read("a", up.ID, func(_ Upload, file io.Reader) error {
		got, err := io.ReadAll(file)
		if string(got) != "0123456789" {
			t.Errorf("%q", got)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// One part at a time: the second of two is refused, and neither is mixed with the other.
func TestOneWriter(t *testing.T) {
	u := load(t, t.TempDir(), &clock{time.Unix(1_800_000_000, 0)})
	up := begin(t, u, "a", "f", 4, -1)
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := u.Append(t.Context(), "a", up.ID, 0, r)
		ended <- err
	}()
	if _, err := w.Write([]byte("01")); err != nil { // the first part is being read
		t.Fatal(err)
	}
	_, err := u.Append(t.Context(), "a", up.ID, 0, bytes.NewReader([]byte("evil")))
	is(t, "a second part", err, nodegate.Busy)
	is(t, "a removal meanwhile", u.Remove("a", up.ID), nodegate.Busy)
	_, _ = w.Write([]byte("23"))
	_ = w.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A slow disk holds up the upload that waits for it and no other, whether files are created,
// removed or expire.
func TestSlowDisk(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	u := load(t, t.TempDir(), c)
	expires := begin(t, u, "a", "expires", 4, -1)
	c.at = c.at.Add(Keep / 2)
	canceled := begin(t, u, "a", "canceled", 4, -1)
	other := begin(t, u, "b", "f", 4, -1)
	reached, goOn := make(chan string), make(chan struct{})
	u.files = folder{
		create: func(dir string, up *Upload) error {
			if up.AccountID == "a" {
				reached <- up.Name
				<-goOn
			}
			return create(dir, up)
		},
		remove: func(dir, id string) error {
			if id == expires.ID || id == canceled.ID {
				reached <- id
				<-goOn
			}
			return remove(dir, id)
		},
	}
	slow := func(want string, do func() error) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case got := <-reached:
			if want != "" && got != want {
				t.Errorf("the disk works on %s, want %s", got, want)
			}
		case err := <-ended:
			t.Fatalf("ended without the disk: %v", err)
		}
		free := make(chan error, 1)
		go func() { free <- beside(t, u, other) }()
		select {
		case err := <-free:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("another account waits for the disk")
		}
		goOn <- struct{}{}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	slow("new", func() error {
		_, err := u.Begin(Upload{AccountID: "a", Name: "new", Size: 4}, -1)
		return err
	})
	slow(canceled.ID, func() error { return u.Remove("a", canceled.ID) })
	c.at = c.at.Add(Keep / 2)
	slow(expires.ID, func() error { u.Expire(); return nil })
}

// beside uses an upload of another account, and begins and ends one more.
func beside(t *testing.T, u *Uploads, up Upload) error {
	if list := u.List(up.AccountID); len(list) != 1 {
		return fmt.Errorf("%d uploads of the other account", len(list))
	}
	if _, err := u.Append(t.Context(), up.AccountID, up.ID, 0, broken{strings.NewReader("")}); err == nil {
		return errors.New("an empty part that broke off passed")
	}
	more, err := u.Begin(Upload{AccountID: up.AccountID, Name: "one more", Size: 4}, -1)
	if err != nil {
		return err
	}
	return u.Remove(up.AccountID, more.ID)
}

// An upload whose files can't be created takes no place, and until they are there neither its
// parts nor a second beginning get in.
func TestFailedBeginning(t *testing.T) {
	u := load(t, t.TempDir(), &clock{time.Unix(1_800_000_000, 0)})
	wanted := Upload{AccountID: "a", Name: "f", Size: 60}
	u.files.create = func(string, *Upload) error {
		_, err := u.Begin(wanted, 100)
		is(t, "a second beginning", err, nodegate.Busy)
		if list := u.List("a"); len(list) != 0 {
			t.Errorf("listed before its files are there: %+v", list)
		}
		return errors.New("no such disk")
	}
	_, err := u.Begin(wanted, 100)
	is(t, "the first", err, nodegate.Internal)
	u.files.create = create
	begin(t, u, "a", "f", 60, 100)
}

// On a disk that is almost full nothing begins and nothing goes on.
func TestFullDisk(t *testing.T) {
	u := load(t, t.TempDir(), &clock{time.Unix(1_800_000_000, 0)})
	up := begin(t, u, "a", "f", 4, -1)
	u.cfg.Guard = disk.NewGuard(t.TempDir(), 1<<30).Asking(func(string) (int64, error) { return 0, nil })
	_, err := u.Append(t.Context(), "a", up.ID, 0, strings.NewReader("0123"))
	is(t, "append", err, nodegate.InsufficientStorage)
	_, err = u.Begin(Upload{AccountID: "a", Name: "g", Size: 4}, -1)
	is(t, "begin", err, nodegate.InsufficientStorage)
}
