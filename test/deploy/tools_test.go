package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tool is a program that may be missing: the test is skipped then.
func tool(t *testing.T, name, debianPackage string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	t.Skipf("%s is not installed: apt-get install %s", name, debianPackage)
	return ""
}

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHAProxyReads the file as it is. The names of the servers are those of compose.yaml, which
// this machine doesn't know.
func TestHAProxyReads(t *testing.T) {
	haproxy := tool(t, "haproxy", "haproxy")
	names := regexp.MustCompile(`nodegate-\d:`)
	path := write(t, "haproxy.cfg", names.ReplaceAllString(read(t, "haproxy.cfg"), "127.0.0.1:"))
	if out, err := exec.Command(haproxy, "-c", "-V", "-f", path).CombinedOutput(); err != nil || strings.Contains(string(out), "[WARNING]") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNginxReads(t *testing.T) {
	nginx := tool(t, "nginx", "nginx")
	dir := t.TempDir()
	path := write(t, "nginx.conf", "error_log stderr;\npid "+dir+"/pid;\nevents {}\nhttp {\n"+read(t, "nginx.conf")+"}\n")
	out, err := exec.Command(nginx, "-t", "-c", path, "-p", dir).CombinedOutput()
	if err != nil || strings.Contains(string(out), "[warn]") && !strings.Contains(string(out), `"user" directive`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSystemdReads lets the program be one that exists: the unit's own is not installed.
func TestSystemdReads(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	unit := strings.ReplaceAll(read(t, "nodegate.service"), "/usr/local/bin/nodegate", "/bin/true")
	path := write(t, "nodegate.service", unit)
	out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), filepath.Base(path)) {
		t.Errorf("%v\n%s", err, out)
	}
}
