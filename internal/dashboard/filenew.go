package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/files"
)

// newFolderData is the form of a folder of files that are pinned.
type newFolderData struct {
	*filesData
	Name    string
	Chosen  []string // CIDs
	Problem string
}

// Has tells whether a file is chosen.
func (d *newFolderData) Has(cid string) bool { return slices.Contains(d.Chosen, cid) }

// newPinData is the form of a pin of something that is stored.
type newPinData struct {
	CID, Name string
	Problem   string
	NoCard    bool
	Keys      []keyChoice
}

func newFolderPage(v *visit) error { return showNewFolder(v, http.StatusOK, &newFolderData{}) }

func showNewFolder(v *visit, status int, d *newFolderData) error {
	var err error
	if d.filesData, _, err = filesForm(v); err != nil {
		return err
	}
	return v.showStatus(status, "folder", d)
}

// addFolder makes a folder of some of the account's pins. Their content is not copied, and
// they stay pinned.
func addFolder(v *visit) error {
	grant, err := storageKey(v)
	if err != nil {
		return err
	}
	d := &newFolderData{Name: strings.TrimSpace(v.req.PostFormValue("name")), Chosen: v.req.PostForm["cid"]}
	if err := files.CheckName(d.Name); err != nil || d.Name == "" {
		d.Problem = "Give the folder a name."
		if err != nil {
			d.Problem = sentence(nodegate.AsError(err).Msg)
		}
		return showNewFolder(v, http.StatusUnprocessableEntity, d)
	}
	node, err := chosenFolder(v, grant, d.Chosen)
	if errors.Is(err, nodegate.InvalidInput) {
		d.Problem = sentence(nodegate.AsError(err).Msg)
		return showNewFolder(v, http.StatusUnprocessableEntity, d)
	}
	if err != nil {
		return err
	}
	return putFolder(v, grant, d, node)
}

// storageKey is the key that a change of files counts toward.
func storageKey(v *visit) (*nodegate.Grant, error) {
	if v.cfg.Files == nil {
		return nil, errNoStorage
	}
	_, grant, err := v.chooseKey(v.req.PostFormValue("key"))
	if err == nil && grant == nil {
		err = errNoKey
	}
	return grant, err
}

// chosenFolder is a folder of pins that are the account's own.
func chosenFolder(v *visit, grant *nodegate.Grant, cids []string) ([]byte, error) {
	if len(cids) > files.MaxFolder {
		cids = cids[:files.MaxFolder+1] // too many already
	}
	var pins []nodegate.Pin
	for _, cid := range cids {
		p, err := v.cfg.Files.Pin(v.req.Context(), v.account.ID, cid)
		if err != nil {
			return nil, noSuchFile(err)
		}
		p.Size = contentSize(v, grant, &p)
		pins = append(pins, p)
	}
	return files.Folder(pins)
}

// contentSize is the size of a pin's content. A small one counts more toward the quota, and a
// folder names the sizes of its entries.
func contentSize(v *visit, grant *nodegate.Grant, p *nodegate.Pin) int64 {
	if p.Size > nodegate.MinPinCharge {
		return p.Size
	}
	handOver(v)
	answer := storageCall(v, grant, "files/stat", url.Values{"arg": {"/ipfs/" + p.CID}})
	var stat struct{ CumulativeSize int64 }
	if answer.status != http.StatusOK || json.Unmarshal(answer.body.Bytes(), &stat) != nil {
		return p.Size // no file: files.Folder refuses it
	}
	return stat.CumulativeSize
}

// putFolder stores and pins a folder by the storage gateway, and names it.
func putFolder(v *visit, grant *nodegate.Grant, d *newFolderData, node []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("object data", "folder")
	if err != nil {
		return err
	}
	_, _ = part.Write(node) // a buffer takes everything
	if err := form.Close(); err != nil {
		return err
	}
	args := url.Values{"input-codec": {"dag-json"}, "store-codec": {"dag-pb"}, "pin": {"true"}}
	req := inner(v.req.Context(), "/api/v0/dag/put", args, body.String())
	req.Header.Set("Content-Type", form.FormDataContentType())
	handOver(v)
	answer := newCaptured()
	v.cfg.Storage(answer, req, "dag/put", grant)
	var put struct {
		Cid struct {
			Text string `json:"/"`
		}
	}
	if answer.status != http.StatusOK || json.Unmarshal(answer.body.Bytes(), &put) != nil {
		d.Problem = sentence(messageOf(answer))
		return showNewFolder(v, refusedStatus(answer), d)
	}
	if err := v.cfg.Files.Rename(v.req.Context(), v.account.ID, put.Cid.Text, d.Name); err != nil {
		return noSuchFile(err)
	}
	return v.seeOther("/files/open?" + url.Values{"cid": {put.Cid.Text}, "done": {"folder"}}.Encode())
}

// refusedStatus is the status of a form that the storage gateway refused. Kubo's clients get
// a 500 for most of what a caller did wrong; a browser should not.
func refusedStatus(answer *captured) int {
	if answer.status >= http.StatusBadRequest && answer.status != http.StatusInternalServerError {
		return answer.status
	}
	return http.StatusUnprocessableEntity
}

func newPinPage(v *visit) error {
	return showNewPin(v, http.StatusOK, &newPinData{CID: v.req.URL.Query().Get("cid")})
}

func showNewPin(v *visit, status int, d *newPinData) error {
	f, _, err := filesForm(v)
	if err != nil {
		return err
	}
	d.NoCard, d.Keys = f.NoCard, f.Keys
	return v.showStatus(status, "pin", d)
}

// pinByCID pins what the storage gateway has, or can get.
func pinByCID(v *visit) error {
	grant, err := storageKey(v)
	if err != nil {
		return err
	}
	d := &newPinData{CID: strings.TrimSpace(v.req.PostFormValue("cid")), Name: strings.TrimSpace(v.req.PostFormValue("name"))}
	if err := files.CheckName(d.Name); err != nil {
		d.Problem = sentence(nodegate.AsError(err).Msg)
		return showNewPin(v, http.StatusUnprocessableEntity, d)
	}
	handOver(v)
	args := url.Values{"arg": {contentOf(d.CID)}}
	if d.Name != "" {
		args.Set("name", d.Name)
	}
	answer := storageCall(v, grant, "pin/add", args)
	var added struct{ Pins []string }
	if answer.status != http.StatusOK || json.Unmarshal(answer.body.Bytes(), &added) != nil || len(added.Pins) == 0 {
		d.Problem = sentence("can't pin this: " + messageOf(answer))
		return showNewPin(v, refusedStatus(answer), d)
	}
	return v.seeOther("/files?" + url.Values{"done": {"pinned"}, "added": added.Pins}.Encode())
}

// contentOf is the content that a CID, a path or a link means.
func contentOf(text string) string {
	if rest, ok := strings.CutPrefix(text, "ipfs://"); ok {
		return "/ipfs/" + rest
	}
	if at := strings.Index(text, "/ipfs/"); at > 0 { // a gateway's link
		text = text[at:]
		if link, err := url.Parse(text); err == nil {
			return link.Path
		}
	}
	return text
}
