package deploy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestNginxUploads: what the dashboard sends at once, a part of 8 MiB or a file of 16, passes
// nginx. Larger bodies of JSON-RPC do too, and get nodegate's own answer.
func TestNginxUploads(t *testing.T) {
	nginx := tool(t, "nginx", "nginx")
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	}))
	t.Cleanup(backend.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := free.Addr().String()
	_ = free.Close()
	text := strings.ReplaceAll(read(t, "nginx.conf"), "listen 8080;", "listen "+front+";")
	text = regexp.MustCompile(`127\.0\.0\.1:854\d`).ReplaceAllString(text, strings.TrimPrefix(backend.URL, "http://"))
	text = strings.Replace(text, backendLine(text), "", 1) // one server twice is one too many
	dir := t.TempDir()
	path := write(t, "nginx.conf", "daemon off;\nmaster_process off;\nerror_log stderr;\npid "+dir+"/pid;\nevents {}\nhttp {\nclient_body_temp_path "+dir+"/body;\n"+text+"}\n")
	server := exec.Command(nginx, "-c", path, "-p", dir)
	var said bytes.Buffer
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for _, size := range []int{8 << 20, 16<<20 + 64<<10} {
		if got := upload(t, "http://"+front+"/files/parts", size); got != fmt.Sprint(size) {
			t.Errorf("%d bytes: %s\n%s", size, got, said.String())
		}
	}
}

// backendLine is the second server of the upstream.
func backendLine(text string) string {
	lines := regexp.MustCompile(`(?m)^ *server 127.*\n`).FindAllString(text, -1)
	return lines[len(lines)-1]
}

// upload posts a body and returns the answer's, as soon as anybody listens.
func upload(t *testing.T, url string, size int) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Post(url, "application/octet-stream", bytes.NewReader(make([]byte, size)))
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			continue
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
}
