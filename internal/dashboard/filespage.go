package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/ipfs/files"
	"github.com/nodegate/nodegate/internal/ipfs/uploads"
)

func filesRoutes() []route {
	return []route{
		{pattern: "GET /files", who: members, serve: filesPage},
		{pattern: "POST /files", who: members, serve: addFile, stream: true},
		{pattern: "POST /files/unpin", who: members, serve: unpinFile},
		{pattern: "POST /files/undo", who: members, serve: undoUnpin},
		{pattern: "POST /files/rename", who: members, serve: renameFile},
		{pattern: "GET /files/folder", who: members, serve: newFolderPage},
		{pattern: "POST /files/folder", who: members, serve: addFolder},
		{pattern: "GET /files/pin", who: members, serve: newPinPage},
		{pattern: "POST /files/pin", who: members, serve: pinByCID},
		{pattern: "GET /files/open", who: members, serve: openFile},
		{pattern: "GET /files/preview", who: members, serve: previewFile},
		{pattern: "GET /files/download", who: members, serve: downloadFile},
		{pattern: "POST /files/uploads", who: members, serve: beginParts},
		{pattern: "POST /files/uploads/{id}", who: members, serve: appendPart, stream: true},
		{pattern: "POST /files/uploads/{id}/finish", who: members, serve: finishParts},
		{pattern: "POST /files/uploads/{id}/cancel", who: members, serve: cancelParts},
	}
}

// filesData is the page of the account's pins.
type filesData struct {
	files.Page
	Search     string
	Number     int // of the page, from 1
	Last, Next string
	Keys       []keyChoice
	KeyID      string
	Quota      int64
	NoCard     bool
	Added      []added
	Parts      []uploads.Upload // that broke off
	Standing   report.Standing
	Plots      []plot
}

// added is a file that was stored a moment ago.
type added struct {
	Name, Hash, Size string
}

var errNoStorage = &nodegate.Error{Op: "dashboard.files", Code: nodegate.NotFound, Msg: "this service has no storage gateway"}

func filesPage(v *visit) error {
	data, _, err := filesForm(v)
	if err != nil {
		return err
	}
	if data.Added, err = justAdded(v, v.req.URL.Query()["added"]); err != nil {
		return err
	}
	data.Parts = v.cfg.Uploads.List(v.account.ID)
	if err := storageFigures(v, data); err != nil {
		return err
	}
	return v.show("files", data)
}

// filesForm is the page as it is asked for.
func filesForm(v *visit) (*filesData, *nodegate.Grant, error) {
	if v.cfg.Files == nil {
		return nil, nil, errNoStorage
	}
	query := v.req.URL.Query() // an upload's body is not ours to read
	page, _ := strconv.Atoi(query.Get("page"))
	page = max(0, min(page, files.Most))
	data := &filesData{Search: query.Get("q"), Number: page + 1, Quota: v.plan().StoredBytes, NoCard: !v.account.Card.Valid(time.Now())}
	var err error
	if data.Page, err = v.cfg.Files.List(v.req.Context(), files.Query{AccountID: v.account.ID, Search: data.Search, Page: page}); err != nil {
		return nil, nil, err
	}
	if page > 0 {
		data.Last = filesAddress(data.Search, page-1)
	}
	if data.More {
		data.Next = filesAddress(data.Search, page+1)
	}
	var grant *nodegate.Grant
	if data.Keys, grant, err = v.chooseKey(query.Get("key")); err != nil {
		return nil, nil, err
	}
	if grant != nil {
		data.KeyID = grant.KeyID
	}
	return data, grant, nil
}

func filesAddress(search string, page int) string {
	return "/files?" + url.Values{"q": {search}, "page": {strconv.Itoa(page)}}.Encode()
}

// addFile hands an upload to the storage gateway's add as it comes: nothing of it is
// kept here, and it is as long as the account's quota allows.
func addFile(v *visit) error {
	data, grant, err := filesForm(v)
	if err != nil {
		return err
	}
	if grant == nil {
		return errNoKey
	}
	answer := newCaptured()
	req := addRequest(v)
	req.Body, req.ContentLength = v.req.Body, v.req.ContentLength
	req.Header.Set("Content-Type", v.req.Header.Get("Content-Type"))
	handOver(v)
	v.cfg.Storage(&uploading{captured: answer, w: v.w}, req, "add", grant)
	if answer.status != http.StatusOK {
		return notAdded(v, answer)
	}
	data.Added = addedIn(answer)
	return showAdded(v, data)
}

// addRequest is for the storage gateway's add, without its body.
func addRequest(v *visit) *http.Request {
	return inner(v.req.Context(), "/api/v0/add", url.Values{"cid-version": {"1"}, "progress": {"false"}, "name-pins": {"true"}}, "")
}

// uploading lets the storage gateway set the deadlines of the real connection, so that
// an upload may take as long as it moves.
type uploading struct {
	*captured
	w http.ResponseWriter
}

// FlushError keeps the gateway's answer here: what is sent is the page's.
func (u *uploading) FlushError() error { return nil }

// Unwrap is for http.ResponseController.
func (u *uploading) Unwrap() http.ResponseWriter { return u.w }

// notAdded tells why an upload was refused, in the gateway's words.
func notAdded(v *visit, answer *captured) error {
	message := sentence(messageOf(answer))
	v.w.Header().Set("Connection", "close") // the rest of the body is not read
	if v.wantsJSON() {
		v.failJSON(max(answer.status, http.StatusBadRequest), message)
		return nil
	}
	return v.showStatus(max(answer.status, http.StatusBadRequest), "error", errorPage{Status: answer.status, Message: message})
}

// messageOf is the text of a refusal: Kubo's form, or a plain line.
func messageOf(answer *captured) string {
	var said struct{ Message string }
	if json.Unmarshal(answer.body.Bytes(), &said) == nil && said.Message != "" {
		return said.Message
	}
	return strings.TrimSpace(answer.body.String())
}

// addedIn reads what add said, a line for each file, and keeps those that are pinned: what
// lies in a folder is not by itself.
func addedIn(answer *captured) (list []added) {
	lines := json.NewDecoder(&answer.body)
	for {
		var line added
		if err := lines.Decode(&line); err != nil {
			return list // the end, or what didn't fit
		}
		if !strings.Contains(line.Name, "/") {
			list = append(list, line)
		}
	}
}

// showAdded shows what was added: to a script as data, to others as a page.
func showAdded(v *visit, data *filesData) error {
	if v.wantsJSON() {
		body, err := json.Marshal(data.Added)
		if err != nil {
			return err
		}
		v.send(http.StatusOK, "application/json", body)
		return nil
	}
	stored := url.Values{"key": {data.KeyID}, "done": {"stored"}}
	for _, f := range data.Added[:min(len(data.Added), addedShown)] {
		stored.Add("added", f.Hash)
	}
	return v.seeOther("/files?" + stored.Encode())
}

// addedShown is how many of the files of an upload the page repeats above its list.
const addedShown = 5

// justAdded finds the files that the address names among the account's own: a link can't
// make the page say that something else was stored.
func justAdded(v *visit, cids []string) (list []added, err error) {
	for _, cid := range cids[:min(len(cids), addedShown)] {
		p, err := v.cfg.Files.Pin(v.req.Context(), v.account.ID, cid)
		switch {
		case errors.Is(err, nodegate.NotFound):
		case err != nil:
			return nil, err
		default:
			list = append(list, added{Name: p.Name, Hash: p.CID, Size: byteSize(p.Size)})
		}
	}
	return list, nil
}

func unpinFile(v *visit) error {
	if v.cfg.Files == nil {
		return errNoStorage
	}
	if err := v.cfg.Files.Unpin(v.req.Context(), v.account.ID, v.req.PostFormValue("cid")); err != nil {
		return noSuchFile(err)
	}
	return v.seeOther("/files?done=unpinned")
}

func undoUnpin(v *visit) error {
	if v.cfg.Files == nil {
		return errNoStorage
	}
	if err := v.cfg.Files.Undo(v.req.Context(), v.account.ID, v.req.PostFormValue("cid")); err != nil {
		return noSuchFile(err)
	}
	return v.seeOther("/files?done=undone")
}

func noSuchFile(err error) error {
	if errors.Is(err, nodegate.NotFound) || errors.Is(err, nodegate.InvalidInput) {
		return &nodegate.Error{Op: "dashboard.files", Code: nodegate.NotFound, Msg: "this file doesn't exist, or was removed", Err: err}
	}
	return err
}
