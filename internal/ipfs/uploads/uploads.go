package uploads

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// Keep is how long parts stay after the last of them came.
const Keep = time.Hour

// PerAccount is how many uploads of one account can be unfinished at once.
const PerAccount = 8

// mostOpen is how many there are of all accounts together.
const mostOpen = 1000

// maxName is the longest name of a file in bytes.
const maxName = 255

// Config is what uploads work with.
type Config struct {
	Dir     string // made when the first upload begins
	MaxSize int64  // of one file; 0 is no limit
	Guard   *disk.Guard
	Now     func() time.Time // nil is the clock
}

// Upload is a file on its way.
type Upload struct {
	ID        string
	AccountID string
	Name      string
	Size      int64
	Modified  string // when the file changed, in the client's words; tells files of one name apart
	Received  int64
	Touched   time.Time // when the last part came
}

// Expires is when the parts are removed.
func (u *Upload) Expires() time.Time { return u.Touched.Add(Keep) }

// open is an upload in memory. Who works on its files holds busy.
type open struct {
	Upload
	busy bool
	made bool // its files are there
}

// Uploads keeps the uploads of a folder. It is safe for concurrent use. The lock is for the
// map alone: nobody waits for the disk of another upload.
type Uploads struct {
	cfg   Config
	files folder

	mu   sync.Mutex
	open map[string]*open // by id
}

// folder is what happens on the disk when an upload begins and ends.
type folder struct {
	create func(dir string, up *Upload) error
	remove func(dir, id string) error
}

// Load finds the uploads that are unfinished, and removes what is left of others.
func Load(cfg Config) (*Uploads, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	u := &Uploads{cfg: cfg, files: folder{create, remove}, open: map[string]*open{}}
	list, err := readFolder(cfg.Dir)
	if err != nil {
		return nil, failed("load", err)
	}
	for _, up := range list {
		u.open[up.ID] = &open{Upload: up, made: true}
	}
	u.Expire()
	return u, nil
}

// Begin starts an upload, or finds the one that the account began before of the same file.
// The account may store so many bytes more; a negative number is no limit.
//
// Returns InvalidInput, TooLarge, QuotaReached, Busy when too many are unfinished, and
// InsufficientStorage.
func (u *Uploads) Begin(wanted Upload, limit int64) (Upload, error) {
	if err := u.check(&wanted); err != nil {
		return Upload{}, err
	}
	u.Expire()
	up, found, err := u.reserve(wanted, limit)
	if err != nil || found {
		return up, err
	}
	if err := u.files.create(u.cfg.Dir, &up); err != nil {
		u.forget(up.ID)
		return Upload{}, failed("begin", err)
	}
	u.created(up.ID)
	return up, nil
}

// reserve finds an upload of the same file, or makes room for one whose files the caller
// creates.
func (u *Uploads) reserve(wanted Upload, limit int64) (up Upload, found bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	own, reserved := 0, int64(0)
	for _, o := range u.open {
		if o.AccountID != wanted.AccountID {
			continue
		}
		if o.Name == wanted.Name && o.Size == wanted.Size && o.Modified == wanted.Modified {
			if !o.made {
				return Upload{}, false, errArriving
			}
			return o.Upload, true, nil
		}
		own, reserved = own+1, reserved+o.Size
	}
	switch {
	case own >= PerAccount:
		err = &nodegate.Error{Op: "uploads.begin", Code: nodegate.Busy, Msg: fmt.Sprintf("%d uploads are unfinished: finish or cancel one first", own)}
	case len(u.open) >= mostOpen:
		err = &nodegate.Error{Op: "uploads.begin", Code: nodegate.Busy, Msg: "too many uploads are in progress on this server: try again later", RetryAfter: time.Minute}
	case limit >= 0 && reserved+wanted.Size > limit:
		err = &nodegate.Error{Op: "uploads.begin", Code: nodegate.QuotaReached, Msg: "this file doesn't fit in your storage quota"}
	}
	if err != nil {
		return Upload{}, false, err
	}
	wanted.ID, wanted.Touched, wanted.Received = strings.ToLower(rand.Text()), u.cfg.Now(), 0
	u.open[wanted.ID] = &open{Upload: wanted, busy: true}
	return wanted, false, nil
}

// created lets parts in once an upload's files are there.
func (u *Uploads) created(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.open[id]
	o.busy, o.made = false, true
}

// forget takes an upload out of the map. Its files are the caller's to remove.
func (u *Uploads) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, id)
}

func (u *Uploads) check(wanted *Upload) error {
	switch {
	case wanted.Size <= 0:
		return &nodegate.Error{Op: "uploads.begin", Code: nodegate.InvalidInput, Msg: "give the size of the file, in bytes"}
	case len(wanted.Name) > maxName || len(wanted.Modified) > maxName:
		return &nodegate.Error{Op: "uploads.begin", Code: nodegate.InvalidInput, Msg: fmt.Sprintf("the file's name is too long: at most %d bytes are allowed", maxName)}
	case u.cfg.MaxSize > 0 && wanted.Size > u.cfg.MaxSize:
		return &nodegate.Error{Op: "uploads.begin", Code: nodegate.TooLarge, Msg: fmt.Sprintf("the file is too large: at most %d bytes are allowed", u.cfg.MaxSize)}
	}
	return u.cfg.Guard.Check()
}

// Append adds a part that begins at an offset, and returns what has arrived in all. What
// comes beyond the file's size is refused.
//
// Returns NotFound, Conflict when the part doesn't start where the last one ended, with how
// much has arrived, Busy while another part arrives, and InsufficientStorage. After a part
// that breaks off the upload goes on with what came of it.
func (u *Uploads) Append(ctx context.Context, accountID, id string, offset int64, part io.Reader) (received int64, err error) {
	o, err := u.take(accountID, id)
	if err != nil {
		return 0, err
	}
	up := o.Upload
	defer func() { u.give(o, up) }()
	if offset != up.Received {
		return up.Received, &nodegate.Error{Op: "uploads.append", Code: nodegate.Conflict, Msg: "the part doesn't start where the last one ended: reload the page and try again"}
	}
	if err := u.cfg.Guard.Check(); err != nil {
		return up.Received, err
	}
	n, err := write(ctx, u.cfg.Dir, &up, part)
	if n > 0 {
		up.Received, up.Touched = up.Received+n, u.cfg.Now()
		if stored := writeRecord(u.cfg.Dir, &up); stored != nil {
			up = o.Upload
			return up.Received, failed("append", stored)
		}
	}
	return up.Received, err
}

// take finds an upload of an account, for one caller at a time.
func (u *Uploads) take(accountID, id string) (*open, error) {
	u.Expire()
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.open[id]
	switch {
	case o == nil || o.AccountID != accountID:
		return nil, errGone
	case o.busy:
		return nil, errArriving
	}
	o.busy = true
	return o, nil
}

// give ends what take began.
func (u *Uploads) give(o *open, now Upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o.Upload, o.busy = now, false
}

var errArriving = &nodegate.Error{Op: "uploads", Code: nodegate.Busy, Msg: "another part of this file is arriving: wait a moment", RetryAfter: time.Second}

var errGone = &nodegate.Error{Op: "uploads", Code: nodegate.NotFound, Msg: "there is no such upload, or its hour is over: upload the file again"}

// Read hands the whole file to a function. While it runs nobody removes it; once it succeeds
// the upload is gone.
//
// Returns NotFound, Busy, Conflict while parts are missing, and the function's error.
func (u *Uploads) Read(accountID, id string, use func(Upload, io.Reader) error) error {
	o, err := u.take(accountID, id)
	if err != nil {
		return err
	}
	up := o.Upload
	defer func() { u.give(o, up) }()
	if up.Received < up.Size {
		return &nodegate.Error{Op: "uploads.read", Code: nodegate.Conflict, Msg: fmt.Sprintf("%d of %d bytes have arrived: upload the rest first", up.Received, up.Size)}
	}
	file, err := os.Open(dataPath(u.cfg.Dir, id))
	if err != nil {
		return failed("read", err)
	}
	defer file.Close()
	if err := use(up, io.LimitReader(file, up.Size)); err != nil {
		return err
	}
	u.forget(id)
	return u.files.remove(u.cfg.Dir, id)
}

// Remove ends an upload and gives its space back.
//
// Returns NotFound, and Busy while a part arrives.
func (u *Uploads) Remove(accountID, id string) error {
	o, err := u.take(accountID, id)
	if err != nil {
		return err
	}
	defer u.give(o, o.Upload)
	u.forget(id)
	return u.files.remove(u.cfg.Dir, id)
}

// List is what an account has unfinished, the latest first.
func (u *Uploads) List(accountID string) (list []Upload) {
	u.Expire()
	u.mu.Lock()
	for _, o := range u.open {
		if o.AccountID == accountID && o.made {
			list = append(list, o.Upload)
		}
	}
	u.mu.Unlock()
	slices.SortFunc(list, func(a, b Upload) int { return cmp.Or(b.Touched.Compare(a.Touched), strings.Compare(a.ID, b.ID)) })
	return list
}

// Expire removes uploads whose hour is over.
func (u *Uploads) Expire() {
	for _, id := range u.expired() {
		_ = u.files.remove(u.cfg.Dir, id) // what can't be removed now is when the server starts again
	}
}

// expired takes the uploads out of the map whose hour is over.
func (u *Uploads) expired() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.cfg.Now()
	for id, o := range u.open {
		if !o.busy && !now.Before(o.Expires()) {
			delete(u.open, id)
			ids = append(ids, id)
		}
	}
	return ids
}

// Run removes what expires until the context ends.
func (u *Uploads) Run(ctx context.Context) {
	tick := time.NewTicker(Keep / 60)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			u.Expire()
		}
	}
}

func failed(op string, err error) error {
	if disk.IsFull(err) {
		return disk.Full("uploads."+op, err)
	}
	return &nodegate.Error{Op: "uploads." + op, Code: nodegate.Internal, Err: err}
}
