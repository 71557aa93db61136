package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// Command is the hidden first argument of a process that serves.
const Command = "child"

// closeTime bounds the end of a server.
const closeTime = 30 * time.Second

// Hello is a child's first line: where it listens and who may come in.
type Hello struct {
	RPC     string `json:"rpc,omitempty"`
	Storage string `json:"storage,omitempty"`
	Admin   string `json:"admin,omitempty"`
	Key     string `json:"key,omitempty"` // with its secret, on an empty folder only
	Secret  string `json:"secret,omitempty"`
}

// Server is what runs in a child.
type Server interface {
	Hello() Hello
	Close() error
}

// Serve opens a server and runs it until standard input ends, which it also does when
// the parent dies. It ignores signals: the terminal sends them to both, and the parent
// closes in order.
func Serve(open func(*slog.Logger) (Server, error)) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	s, err := open(obs.NewLogger(os.Stderr, "text", slog.LevelError))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Hello()); err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(answerQuestions(os.Stdin, os.Stdout), s.Close())
}

// cpuQuestion is what the parent writes to read a child's processor time.
const cpuQuestion = "cpu"

// answerQuestions tells the processor time used so far, in microseconds. The kernel
// keeps it to the nanosecond; the files in /proc round it to ticks of 10 ms.
func answerQuestions(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if lines.Text() != cpuQuestion {
			return fmt.Errorf("unknown question %q", lines.Text())
		}
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return err
		}
		used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
		if _, err := fmt.Fprintln(w, used.Microseconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Config is what a newcomer starts, except for ports and folder.
func Config(data string) *config.Config {
	cfg := config.Default()
	cfg.Data = data
	cfg.Listen, cfg.AdminListen, cfg.StorageListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return cfg
}

// service is the whole service.
type service struct{ *server.Server }

// Open starts the whole service in this process.
func Open(cfg *config.Config, log *slog.Logger) (Server, error) {
	server.TuneRuntime()
	srv, err := server.New(cfg, log, server.Build{Version: "bench"})
	if err != nil {
		return nil, err
	}
	s := service{srv}
	if err := srv.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Hello tells where the service listens.
func (s service) Hello() Hello {
	at := s.Addresses()
	h := Hello{RPC: at.RPC, Storage: at.Storage, Admin: at.Admin}
	if first := s.FirstKey(); first != nil {
		h.Key, h.Secret = first.Value, first.Secret
	}
	return h
}

// Close drains the service.
func (s service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return s.Server.Close(ctx)
}
