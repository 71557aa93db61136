package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

// process is a server that was started.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   *bytes.Buffer
	url   string // where it is asked
	key   string
	admin string
}

// build compiles the command that is measured.
func build(ctx context.Context, to string) error {
	progress("building")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/nodegate")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// start runs a program in the background; what it says is shown when it fails.
func start(name string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(name), cmd: exec.Command(name, args...), log: &bytes.Buffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return p, p.cmd.Start()
}

// startTime is how long a server may take until it answers.
const startTime = 30 * time.Second

// await asks a page until it answers 200.
func (p *process) await(ctx context.Context, page string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", p.name, ctx.Err(), p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// close asks a server to stop and waits for it.
func (p *process) close() error {
	if p == nil || p.cmd.Process == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	ended := time.AfterFunc(15*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer ended.Stop()
	if err := p.cmd.Wait(); err != nil && p.name != "nginx" {
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.log)
	}
	return nil
}

// cpu is the processor time of the process and of its children.
func (p *process) cpu() (time.Duration, error) { return child.Usage{PID: p.cmd.Process.Pid}.TreeCPU() }

// memory is how much of the process is in memory now, in megabytes.
func (p *process) memory() (float64, error) {
	bytes, err := child.Usage{PID: p.cmd.Process.Pid}.Memory()
	return float64(bytes) / 1e6, err
}
