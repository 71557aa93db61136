package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate/test/upgrade"
)

// server is a running build and what was put into it.
type server struct {
	program      string
	env          []string
	cmd          *exec.Cmd
	rpc, storage string
	manifest     manifest
}

type manifest struct{ upgrade.Manifest }

func (m *manifest) save(file string) error {
	text, err := json.MarshalIndent(m.Manifest, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// start runs the build in an empty folder and reads what it prints.
func start(program, data, dsn string) (*server, error) {
	s := &server{program: program, cmd: exec.Command(program, "serve")}
	s.env = append(os.Environ(), "NODEGATE_DATA="+data, "NODEGATE_LISTEN=127.0.0.1:0", "NODEGATE_ADMIN_LISTEN=127.0.0.1:0",
		"NODEGATE_STORAGE_LISTEN=127.0.0.1:0", "NODEGATE_STORAGE_RESERVE=0")
	if dsn != "" {
		s.env = append(s.env, "NODEGATE_STORE_POSTGRES="+dsn)
	}
	s.cmd.Env, s.cmd.Stderr = s.env, os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	return s, s.readBanner(bufio.NewReader(out))
}

func (s *server) readBanner(lines *bufio.Reader) error {
	a := &s.manifest.Account
	a.Email, a.Keys = "dev@localhost", make([]upgrade.Key, 1)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the program did not start: %w", err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "JSON-RPC":
			s.rpc = value
		case "storage":
			s.storage = "http" + strings.TrimPrefix(value, "https")
		case "sign-in": // builds since then leave the rest in a file
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return s.readCredentials(value)
		default:
			if s.credential(strings.TrimSpace(name), value) {
				go func() { _, _ = io.Copy(io.Discard, lines) }()
				return nil
			}
		}
	}
}

// readCredentials reads the file that a first start leaves in the data folder.
func (s *server) readCredentials(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if s.credential(strings.TrimSpace(name), strings.TrimSpace(value)) {
			return nil
		}
	}
	return fmt.Errorf("no credentials in %s", file)
}

// credential takes one line of what a first start made, and tells whether it was the last.
func (s *server) credential(name, value string) (last bool) {
	a := &s.manifest.Account
	switch name {
	case "password":
		a.Password = value
	case "API key":
		a.Keys[0].Value = value
	case "secret":
		a.Keys[0].Secret = value
	}
	return name == "secret"
}

func (s *server) kill() { _ = s.cmd.Process.Kill() }

// stop lets the build write what it holds in memory.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// tool runs a command of the build beside the server.
func (s *server) tool(input string, args ...string) ([]byte, error) {
	cmd := exec.Command(s.program, args...)
	cmd.Env, cmd.Stderr, cmd.Stdin = s.env, os.Stderr, strings.NewReader(input)
	return cmd.Output()
}

// call calls a method with the first key and reads its result.
func (s *server) call(network string, result any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	res, err := http.Post(s.rpc+"/"+network+"/v3/"+s.manifest.Account.Keys[0].Value, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var envelope struct {
		Result json.RawMessage
		Error  any
	}
	if err := json.NewDecoder(res.Body).Decode(&envelope); err != nil {
		return err
	}
	if envelope.Error != nil {
		return fmt.Errorf("%s: %v", method, envelope.Error)
	}
	s.manifest.Requests++
	return json.Unmarshal(envelope.Result, result)
}
