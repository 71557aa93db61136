package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is the server as its parent sees it.
type process struct {
	hello
	cmd       *exec.Cmd
	input     io.Closer
	startTime time.Duration // from the start of the process until it listened
}

// startProcess starts this program again as a server and waits until it listens.
func startProcess(dir string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, childCommand, filepath.Join(dir, "data"))}
	p.cmd.Stderr = os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	p.startTime = time.Since(begin)
	if err == nil {
		err = json.Unmarshal(line, &p.hello)
	}
	if err != nil {
		return nil, errors.Join(errors.New("the server did not start"), err, p.close())
	}
	return p, nil
}

// close ends the child's input, upon which it closes its server, and waits for it.
func (p *process) close() error { return errors.Join(p.input.Close(), p.cmd.Wait()) }

// kill ends the child as a crash does.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // says that the process was killed, and closes its input
	return nil
}

func (p *process) usage() usage { return usage{pid: p.cmd.Process.Pid} }

// targets are the two ways to the server.
func (p *process) targets() []*target {
	at, _ := url.Parse(p.Storage) // the server's own
	base := target{host: at.Host, auth: basic(url.UserPassword(p.Key, p.Secret)), usage: p.usage(), collect: p.Admin + "/storage/gc"}
	plain, secure := base, base
	plain.name, secure.name, secure.tls = "http", "https", true
	return []*target{&plain, &secure}
}
