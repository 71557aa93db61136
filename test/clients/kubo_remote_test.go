package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// kuboRemote uses nodegate as a remote pinning service of a Kubo with a repository of its
// own, which is not running and reaches nobody.
func kuboRemote(i *ipfs) {
	content := "pinned by a remote service"
	kept := strings.TrimSpace(i.feed(content, "add", "-Q", "--pin=false"))
	mine := strings.TrimSpace(i.feed("pinned by add", "add", "-Q", "--pin-name", "mine"))
	port := i.api[strings.LastIndex(i.api, "/")+1:]
	key, secret, _ := strings.Cut(strings.TrimPrefix(i.auth, "basic:"), ":")
	l := &local{i}
	l.ok("init", "--profile=test")
	l.ok("pin", "remote", "service", "add", "nodegate", "http://127.0.0.1:"+port, key+"."+secret)
	l.ok("pin", "remote", "service", "add", "stranger", "http://127.0.0.1:"+port, key+".no-secret")
	l.fails("UNAUTHORIZED", "pin", "remote", "ls", "--service=stranger")
	l.ok("pin", "remote", "service", "rm", "stranger")

	l.has("Status: pinned", "pin", "remote", "add", "--service=nodegate", "--name=kept", kept)
	l.fails("failed to pin", "pin", "remote", "add", "--service=nodegate", "--name=missing", missingCID)
	l.has("Status: failed", "pin", "remote", "add", "--service=nodegate", "--background", "--name=missing too", missingCID)
	l.has(kept+"\tpinned\tkept", "pin", "remote", "ls", "--service=nodegate")
	l.has(mine+"\tpinned\tmine", "pin", "remote", "ls", "--service=nodegate")
	l.has(kept+"\tpinned\tkept", "pin", "remote", "ls", "--service=nodegate", "--name=kept", "--cid="+kept)
	l.has(missingCID+"\tfailed\tmissing", "pin", "remote", "ls", "--service=nodegate", "--status=queued,pinning,failed")
	l.has("0/0/2/2", "pin", "remote", "service", "ls", "--stat")

	l.fails("multiple remote pins are matching", "pin", "remote", "rm", "--service=nodegate", "--status=failed")
	l.ok("pin", "remote", "rm", "--service=nodegate", "--status=failed", "--force")
	l.ok("pin", "remote", "rm", "--service=nodegate", "--name=kept")
	l.has("0/0/1/0", "pin", "remote", "service", "ls", "--stat")
	i.want(mine+" recursive", "pin", "ls", "--type=recursive")
}

// local is Kubo's command line on its own repository.
type local struct{ *ipfs }

func (l *local) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir, cmd.Env = l.dir, append(os.Environ(), l.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("ipfs %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), err
}

func (l *local) ok(args ...string) string {
	l.Helper()
	out, err := l.try(args...)
	if err != nil {
		l.Fatal(err)
	}
	return out
}

// has runs a command whose output must have a text.
func (l *local) has(text string, args ...string) {
	l.Helper()
	if out := l.ok(args...); !strings.Contains(out, text) {
		l.Errorf("ipfs %s prints\n%s\nwant something with %q", strings.Join(args, " "), out, text)
	}
}

func (l *local) fails(text string, args ...string) {
	l.Helper()
	if out, err := l.try(args...); err == nil || !strings.Contains(err.Error(), text) {
		l.Errorf("ipfs %s: %q, %v, want an error with %q", strings.Join(args, " "), out, err, text)
	}
}
