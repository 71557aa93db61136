package storage_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/background"
)

// TestLongUploadsStepBack: an upload of very many files works on threads of
// low priority, in the request or in its commit. Small requests of others don't wait for it.
func TestLongUploadsStepBack(t *testing.T) {
	if background.Cores() == 1 {
		t.Skip("there is one core: work keeps its priority")
	}
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("threads are looked at through /proc, which is not here")
	}
	n := newTenant(t)
	content, into := io.Pipe()
	form := multipart.NewWriter(into)
	go func() {
		seen := false
		for i := range 9_000 { // a request may have 10,000
			w, err := form.CreateFormFile("file", fmt.Sprint("f", i))
			if err != nil {
				return // the request has ended
			}
			fmt.Fprintf(w, "content %d of %s", i, n.name)
			seen = seen || i%100 == 0 && lowered()
		}
		if !seen {
			t.Error("the upload works at full priority")
		}
		_ = into.CloseWithError(form.Close())
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.base+"/api/v0/add?quieter=true&pin=false", content)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(n.key, n.secret)
	r.Header.Set("Content-Type", form.FormDataContentType())
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || err != nil {
		t.Errorf("%s: %.200s, %v", response.Status, text, err)
	}
}

// lowered tells whether a thread of this process has a lower priority.
func lowered() bool {
	threads, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, file := range threads {
		text, _ := os.ReadFile(file) // a thread may end meanwhile
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 16 && fields[16] != "0" {
			return true
		}
	}
	return false
}
