package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a child as its parent sees it.
type process struct {
	hello
	cmd       *exec.Cmd
	questions io.WriteCloser
	answers   *bufio.Reader
	startTime time.Duration // from the start of the process until it listened
}

// startProcess starts this program again as a server and waits until it listens.
func startProcess(kind string, c childFlags) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, childCommand, kind, "-genesis", c.genesis, "-chain", c.chain, "-data", c.data)}
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
	if err := p.readHello(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start", kind), err, p.close())
	}
	p.startTime = time.Since(begin)
	return p, nil
}

func (p *process) readHello() error {
	line, err := p.answers.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, &p.hello)
}

// cpu reads the processor time that the process has used so far.
func (p *process) cpu() (time.Duration, error) {
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

// memory reads how many bytes of the process are in memory now.
func (p *process) memory() (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("no VmRSS in the process status")
}

// close ends the child's input, upon which it closes its server, and waits for it.
func (p *process) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.questions.Close(), p.cmd.Wait())
}
