package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/uploads"
	"github.com/nodegate/nodegate/internal/web"
)

// Large files come in parts, so that a broken connection costs one of them. Only the page's
// script does that; without it a file comes whole, by the form.
const (
	partSize = 8 << 20
	maxPart  = 2 * partSize
)

// Parts counts the transfer of parts when they come, whatever becomes of the upload. The limit
// is the plan's, in bytes a month; 0 is none.
type Parts struct {
	MayReceive func(accountID string, limit int64) error        // before an upload begins
	Received   func(accountID string, bytes, limit int64) error // the error ends the transfer
	// Store is Storage for content that Received has counted.
	Store func(w http.ResponseWriter, req *http.Request, command string, grant *nodegate.Grant)
}

// partsData is what the script gets: how far an upload is.
type partsData struct {
	ID       string `json:"id"`
	Received int64  `json:"received"`
	Part     int64  `json:"part"` // how large a part may be
}

// beginParts starts an upload, or finds the one of the same file that broke off.
func beginParts(v *visit) error {
	if v.cfg.Uploads == nil {
		return errNoStorage
	}
	if !v.account.Card.Valid(time.Now()) {
		return &nodegate.Error{Op: "dashboard.upload", Code: nodegate.CardRequired, Msg: "storing files requires a billing card: add one under Billing"}
	}
	if err := v.cfg.Parts.MayReceive(v.account.ID, v.plan().MovedBytes); err != nil {
		return err
	}
	size, _ := strconv.ParseInt(v.req.PostFormValue("size"), 10, 64)
	up, err := v.cfg.Uploads.Begin(uploads.Upload{
		AccountID: v.account.ID, Name: v.req.PostFormValue("name"), Size: size, Modified: v.req.PostFormValue("modified"),
	}, roomLeft(v))
	if err != nil {
		return err
	}
	return sendParts(v, http.StatusOK, up.ID, up.Received)
}

// roomLeft is how many bytes the account may store yet; -1 is no limit.
func roomLeft(v *visit) int64 {
	quota := v.plan().StoredBytes
	if quota == 0 {
		return -1
	}
	return max(0, quota-v.cfg.Files.Stored(v.account.ID))
}

func sendParts(v *visit, status int, id string, received int64) error {
	body, err := json.Marshal(partsData{ID: id, Received: received, Part: partSize})
	if err != nil {
		return err
	}
	v.send(status, "application/json", body)
	return nil
}

// appendPart takes one part. One that begins elsewhere than the last one ended gets the
// place where it has to: the script goes on from there.
func appendPart(v *visit) error {
	if v.cfg.Uploads == nil {
		return errNoStorage
	}
	offset, err := strconv.ParseInt(v.req.URL.Query().Get("offset"), 10, 64)
	if err != nil {
		offset = -1
	}
	handOver(v)
	id := v.req.PathValue("id")
	part := &countedPart{Reader: web.Paced(v.w, http.MaxBytesReader(v.w, v.req.Body, maxPart)), count: receiver(v)}
	received, err := v.cfg.Uploads.Append(v.req.Context(), v.account.ID, id, offset, part)
	switch over := part.settle(); {
	case over != nil:
		return over
	case errors.As(err, new(*http.MaxBytesError)):
		return &nodegate.Error{Op: "dashboard.upload", Code: nodegate.TooLarge, Msg: "a part can be at most " + byteSize(maxPart), Err: err}
	case errors.Is(err, nodegate.Conflict):
		return sendParts(v, http.StatusConflict, id, received)
	case err != nil:
		return err
	}
	return sendParts(v, http.StatusOK, id, received)
}

// receiver counts bytes for the account.
func receiver(v *visit) func(bytes int64) error {
	account, limit := v.account.ID, v.plan().MovedBytes
	return func(bytes int64) error { return v.cfg.Parts.Received(account, bytes, limit) }
}

// countStep is how much of a part comes between two looks at the account's figure.
const countStep = 256 << 10

// countedPart counts a part as it comes.
type countedPart struct {
	io.Reader
	count     func(bytes int64) error
	uncounted int64
	over      error // that the account's transfer is used up
}

func (p *countedPart) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.uncounted += int64(n); p.uncounted >= countStep && p.settle() != nil && err == nil {
		err = p.over
	}
	return n, err
}

// settle counts the rest.
func (p *countedPart) settle() error {
	n := p.uncounted
	if p.uncounted = 0; n > 0 {
		if err := p.count(n); err != nil {
			p.over = err
		}
	}
	return p.over
}

// finishParts stores a file that has arrived, as an upload by the form is.
func finishParts(v *visit) error {
	if v.cfg.Uploads == nil {
		return errNoStorage
	}
	_, grant, err := v.chooseKey(v.req.PostFormValue("key"))
	if err != nil {
		return err
	}
	if grant == nil {
		return errNoKey
	}
	// The request has come whole, but its deadline for reading would end it all the same.
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Time{})
	handOver(v)
	answer := newCaptured()
	err = v.cfg.Uploads.Read(v.account.ID, v.req.PathValue("id"), func(up uploads.Upload, file io.Reader) error {
		if err := addWhole(v, grant, &up, file, answer); err != nil {
			return err
		}
		if answer.status != http.StatusOK {
			return errRefused
		}
		return nil
	})
	switch {
	case err == errRefused:
		return notAdded(v, answer)
	case err != nil:
		return err
	}
	return showAdded(v, &filesData{KeyID: grant.KeyID, Added: addedIn(answer)})
}

// errRefused says that the storage gateway refused a file; its answer has the reason.
var errRefused = &nodegate.Error{Op: "dashboard.upload", Code: nodegate.InvalidInput, Msg: "the file can't be stored"}

// addWhole hands a file to the storage gateway's add.
func addWhole(v *visit, grant *nodegate.Grant, up *uploads.Upload, file io.Reader, answer *captured) error {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	if _, err := form.CreateFormFile("file", url.QueryEscape(up.Name)); err != nil {
		return err
	}
	head := bytes.Clone(frame.Bytes())
	frame.Reset()
	if err := form.Close(); err != nil {
		return err
	}
	req := addRequest(v)
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(head), file, bytes.NewReader(frame.Bytes())))
	req.ContentLength = int64(len(head)) + up.Size + int64(frame.Len())
	req.Header.Set("Content-Type", form.FormDataContentType())
	v.cfg.Parts.Store(answer, req, "add", grant)
	return nil
}

// cancelParts ends an upload that nobody will finish.
func cancelParts(v *visit) error {
	if v.cfg.Uploads == nil {
		return errNoStorage
	}
	if err := v.cfg.Uploads.Remove(v.account.ID, v.req.PathValue("id")); err != nil {
		return err
	}
	return v.seeOther("/files?done=upload-canceled")
}
