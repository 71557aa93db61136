package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
)

const fileSize = 4 << 10

// uploader adds files that were never there before, and reads them.
type uploader struct {
	base, key, secret string
	content           []byte // of a file, except for its number
	files             atomic.Uint64
	client            *http.Client
}

func newUploader(p *started, f *filled) *uploader {
	u := &uploader{
		base: strings.Replace(p.Storage, "https://", "http://", 1) + "/api/v0/", key: f.keys[0], secret: f.secret, content: make([]byte, fileSize),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}},
	}
	_, _ = rand.Read(u.content) // never fails
	return u
}

// add adds files, pins them and returns their CIDs.
func (u *uploader) add(files int) (cids []string, err error) {
	body, contentType, err := u.multipart(files)
	if err != nil {
		return nil, err
	}
	res, err := u.post("add", contentType, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	for lines := json.NewDecoder(res.Body); ; {
		var line struct{ Hash string }
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil || line.Hash == "" {
			return nil, fmt.Errorf("a line of the response has no CID: %v", err)
		}
		cids = append(cids, line.Hash)
	}
	if len(cids) != files {
		return nil, fmt.Errorf("%d files were sent and %d CIDs came back", files, len(cids))
	}
	return cids, nil
}

// multipart writes files into a body.
func (u *uploader) multipart(files int) (body *bytes.Buffer, contentType string, err error) {
	body = new(bytes.Buffer)
	w := multipart.NewWriter(body)
	for range files {
		number := u.files.Add(1)
		part, err := w.CreateFormFile("file", fmt.Sprintf("f%d", number))
		if err != nil {
			return nil, "", err
		}
		content := binary.LittleEndian.AppendUint64(nil, number)
		content = append(content, u.content[len(content):]...)
		if _, err := part.Write(content); err != nil {
			return nil, "", err
		}
	}
	return body, w.FormDataContentType(), w.Close()
}

// get reads a block.
func (u *uploader) get(cid string) error {
	res, err := u.post("block/get?arg="+cid, "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && n < fileSize {
		err = fmt.Errorf("the block %s has %d bytes", cid, n)
	}
	return err
}

func (u *uploader) post(command, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, u.base+command, body)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(u.key, u.secret)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := u.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return nil, fmt.Errorf("%s: %s: %s", command, res.Status, text)
	}
	return res, nil
}
