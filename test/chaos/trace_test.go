package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tracer is strace at work on a program.
type tracer struct {
	cmd *exec.Cmd
	end sync.Once
}

// attach traces a running program. It returns when every thread is under it.
func attach(p *program, args ...string) (*tracer, error) {
	cmd := exec.Command("strace", append(args, "-f", "-p", fmt.Sprint(p.cmd.Process.Pid))...)
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "attached") {
		_ = cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("strace says %q", first), cmd.Wait())
	}
	go func() { _, _ = lines.WriteTo(nowhere{}) }()
	tr := &tracer{cmd: cmd}
	p.t.Cleanup(tr.detach)
	return tr, nil
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// detach lets the program run on alone.
func (tr *tracer) detach() {
	tr.end.Do(func() {
		_ = tr.cmd.Process.Signal(syscall.SIGINT)
		_ = tr.cmd.Wait() // it ends by the signal
	})
}

// mayTrace skips a test where processes can't be traced.
func mayTrace(t *testing.T, o *outcome, instead string) {
	t.Helper()
	if !have("strace") {
		o.skip(t, "strace is not installed; %s stands for it", instead)
	}
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		o.skip(t, "processes can't be traced here (%.100s); %s stands for it", out, instead)
	}
}

// TestSyncOrder is row 29: in the order of system calls, everything that an answer
// stands for is written and synced before the answer is sent.
func TestSyncOrder(t *testing.T) {
	o := begin(t, 29, "order of system calls: sync before each answer", "100 % of the answers")
	mayTrace(t, o, "TestPowerCut of internal/ipfs/blockstore")
	b := newSandbox(t)
	p := b.start()
	file := b.path("trace")
	tr, err := attach(p, "-y", "-s", "24", "-o", file, "-e", "trace=openat,pwrite64,write,writev,fsync,fdatasync,sendto,sendmsg")
	if err != nil {
		o.skip(t, "%v", err)
	}
	writes := length(30, 200)
	for i := range writes {
		cid := p.mustAdd(contentOf(i))
		if i%3 != 0 {
			continue
		}
		for _, command := range []string{"pin/rm?arg=", "pin/add?arg="} {
			if r := p.post(command+cid, "", nil); r.status != http.StatusOK {
				t.Fatalf("%s: %d %s", command, r.status, r.body)
			}
			writes++
		}
	}
	tr.detach()
	checked := checkOrder(t, file, `"HTTP/1.1 200`)
	keyAnswers := keyOrder(t, b)
	o.say("%d of %d answers of the gateway and %d of %d new keys after their sync", checked, writes, keyAnswers, keyAnswers)
	if checked != writes {
		t.Errorf("%d answers in the trace, want %d", checked, writes)
	}
}

// keyOrder traces the command that makes a key: SQLite has synced before it prints.
func keyOrder(t *testing.T, b *sandbox) (checked int) {
	t.Helper()
	for range 3 {
		file := b.path("trace-key")
		cmd := b.command(t.Context(), "key", "create", "--account", "dev@localhost", "--json")
		args := append([]string{"-f", "-y", "-s", "24", "-o", file, "-e", "trace=openat,pwrite64,write,fsync,fdatasync"}, cmd.Args...)
		traced := exec.Command("strace", args...)
		traced.Dir, traced.Env = cmd.Dir, cmd.Env
		if out, err := traced.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		checked += checkOrder(t, file, `"{\"id\"`)
	}
	return checked
}

// What a line of a trace says.
var (
	lineForm   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumeForm = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>.* = (-?\d+)`)
	newForm    = regexp.MustCompile(`"([^"]+)/[^/"]+\.seg", [A-Z_|]*O_CREAT`)
	fileForm   = regexp.MustCompile(`<([^>]*)>`)
	watched    = regexp.MustCompile(`\.seg$|/segments$|/nodegate\.db(-wal)?$`)
)

// books follow what is written and what is synced, by file.
type books struct {
	written, synced map[string]int
	under           map[string]syncing // syncs that have begun, by thread
	fresh           bool               // something was written since the last answer
}

type syncing struct {
	file   string
	covers int
}

// begins notes the start of a call.
func (k *books) begins(thread, call, args string) {
	if call == "openat" { // a new file is a change of its folder
		if folder := newForm.FindStringSubmatch(args); folder != nil {
			k.written[folder[1]]++
		}
		return
	}
	found := fileForm.FindStringSubmatch(args)
	if len(found) != 2 || !watched.MatchString(found[1]) {
		return
	}
	if strings.HasPrefix(call, "f") {
		k.under[thread] = syncing{found[1], k.written[found[1]]}
		return
	}
	k.written[found[1]]++
	k.fresh = true
}

// ends notes the end of a call.
func (k *books) ends(thread, call, result string) {
	if s, ok := k.under[thread]; ok && strings.HasPrefix(call, "f") {
		if delete(k.under, thread); result == "0" {
			k.synced[s.file] = max(k.synced[s.file], s.covers)
		}
	}
}

// open lists the files with something that is not synced.
func (k *books) open() (list []string) {
	for name, n := range k.written {
		if k.synced[name] < n {
			list = append(list, name)
		}
	}
	return list
}

// checkOrder reads a trace of one client's requests and returns how many answers it
// has. Each must come after a write and the sync of all that was written.
func checkOrder(t *testing.T, file, answer string) (answers int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := &books{written: map[string]int{}, synced: map[string]int{}, under: map[string]syncing{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := resumeForm.FindStringSubmatch(lines.Text()); m != nil {
			k.ends(m[1], m[2], m[3])
			continue
		}
		m := lineForm.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if strings.Contains(m[3], answer) {
			answers++
			if open := k.open(); len(open) > 0 || !k.fresh {
				t.Errorf("answer %d is sent although %v is not synced (anything written: %t)", answers, open, k.fresh)
			}
			k.fresh = false
			continue
		}
		k.begins(m[1], m[2], m[3])
		if _, result, done := strings.Cut(m[3], ") = "); done {
			k.ends(m[1], m[2], strings.Fields(result)[0])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// TestFailingCalls is row 30: the n-th write or sync of each thread fails, for many n.
// Whatever was answered with 200 is there after a restart.
func TestFailingCalls(t *testing.T) {
	highest := length(4, 40)
	o := begin(t, 30, fmt.Sprintf("EIO and ENOSPC at the n-th pwrite64, fsync, fdatasync, n = 1 to %d", highest), "everything answered with 200 is there after a restart")
	mayTrace(t, o, "TestFailingOperation of internal/ipfs/blockstore")
	b := newSandbox(t, "GOMAXPROCS=1") // few threads: each counts its own calls
	k := newPromises()
	p := b.start()
	old := p.mustAdd(pattern(1, 700_000))
	refused, silent, again := 0, 0, 0
	for n := 1; n <= highest; n++ {
		for i, cause := range []string{"EIO", "ENOSPC"} {
			since := (2*n + i) * roundSeeds
			failed := k.underFailure(t, p, cause, n, since)
			refused += failed
			if failed == 0 {
				silent++
			}
			if r := p.post("cat?arg="+old, "", nil); r.status != http.StatusOK || r.body != string(pattern(1, 700_000)) {
				t.Errorf("%s at %d: reading ends too: %d %.200s", cause, n, r.status, r.body)
			}
			if cid, _ := p.add("", pattern(since-1, 3000)); cid != "" {
				again++
			}
			p.kill()
			p = b.start()
			k.check(t, p, since)
			if t.Failed() {
				t.Fatalf("%s at %d\n%.4000s", cause, n, p.logs)
			}
		}
	}
	o.say("%d runs: %d adds answered and there, %d refused, %d runs without a refusal, writing again without a restart in %d", 2*highest, len(k.pinned), refused, silent, again)
	if refused < highest/2 {
		t.Errorf("too few calls failed to show anything: %s", o.measured)
	}
}

// underFailure adds until a call has failed and some more, and returns how many adds
// were refused.
func (k *promises) underFailure(t *testing.T, p *program, cause string, n, seed int) (refused int) {
	t.Helper()
	const after = 4
	tr, err := attach(p, "-o", os.DevNull, "-e", "trace=pwrite64,fsync,fdatasync", "-e", fmt.Sprintf("inject=pwrite64,fsync,fdatasync:error=%s:when=%d", cause, n))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.detach()
	deadline := time.Now().Add(20 * time.Second)
	for i, left := 0, after; i < 10+8*n && left > 0 && time.Now().Before(deadline); i++ {
		if refused > 0 {
			left--
		}
		cid, r := p.add("", contentOf(seed+i))
		if cid != "" {
			k.pin(cid, seed+i)
			continue
		}
		if r.status == http.StatusOK {
			t.Errorf("a good status without a CID: %s", r.body)
		}
		refused++
	}
	return refused
}
