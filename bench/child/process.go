package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Process is a child as its parent sees it.
type Process struct {
	Hello
	StartTime time.Duration // from the start of the process until it listened

	cmd       *exec.Cmd
	questions io.WriteCloser
	answers   *bufio.Reader
}

// Start starts this program again as a server, with arguments behind Command, and
// waits until it listens.
func Start(args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return StartProgram(self, args...)
}

// StartProgram is Start for another build of the same benchmark, so that both can be
// measured in one run.
func StartProgram(program string, args ...string) (_ *Process, err error) {
	p := &Process{cmd: exec.Command(program, append([]string{Command}, args...)...)}
	p.cmd.Stderr = os.Stderr
	if p.questions, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewReader(out)
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := p.answers.ReadBytes('\n')
	p.StartTime = time.Since(begin)
	if err == nil {
		err = json.Unmarshal(line, &p.Hello)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server %q did not start", args), err, p.Close())
	}
	return p, nil
}

// CPU is the processor time that the process has used so far, by its own account.
func (p *Process) CPU() (time.Duration, error) {
	if _, err := fmt.Fprintln(p.questions, cpuQuestion); err != nil {
		return 0, err
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		return 0, err
	}
	micros, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return time.Duration(micros) * time.Microsecond, err
}

// Usage reads what the process uses, from outside.
func (p *Process) Usage() Usage { return Usage{PID: p.cmd.Process.Pid} }

// Close ends the child's input, upon which it closes its server, and waits for it. A
// nil process is closed already.
func (p *Process) Close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.questions.Close(), p.cmd.Wait())
}

// Kill ends the child as a crash does.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // says that the process was killed, and closes its input
	return nil
}

// Profile takes a CPU profile of the service for some seconds and writes it to a file.
func (p *Process) Profile(seconds int, path string) (err error) {
	address := fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", p.Admin, seconds)
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}
