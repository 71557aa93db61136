package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodegate/nodegate/test/full"
)

// typing bounds the wait for a prompt.
const typing = time.Minute

// person sits at a real terminal in which a command runs.
type person struct {
	t          *testing.T
	keys, line *os.File // what the person holds, and what the command has
	screen     safeBuffer
	cmd        *exec.Cmd
}

func sitDown(t *testing.T, args ...string) *person {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	p := &person{t: t, keys: keys, line: line, cmd: exec.Command("nodegate", args...)}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ownEnv(), line, line, line
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.watch()
	return p
}

func (p *person) watch() {
	buffer := make([]byte, 1024)
	for {
		n, err := p.keys.Read(buffer)
		if err != nil {
			return
		}
		_, _ = p.screen.Write(buffer[:n])
	}
}

// sees waits until a text is on the screen and typing is hidden or not.
func (p *person) sees(text string, hidden bool) {
	p.t.Helper()
	for begin := time.Now(); !strings.HasSuffix(p.screen.String(), text) || p.hidden() != hidden; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > typing {
			p.t.Fatalf("no %q, hidden %v, in:\n%s", text, p.hidden(), &p.screen)
		}
	}
}

func (p *person) hidden() bool {
	state, err := unix.IoctlGetTermios(int(p.line.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO == 0
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// leaves waits for the end of the command.
func (p *person) leaves() (code int) {
	p.t.Helper()
	_ = p.cmd.Wait()
	if p.hidden() {
		p.t.Error("the terminal still hides what is typed")
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestPasswordPrompt(t *testing.T) {
	for _, c := range []struct {
		name, again, says string
		code              int
	}{
		{"the same twice", "correct horse battery", "a@example.com", 0},
		{"a typing error", "correct house battery", "the two passwords differ; nothing was changed", exitMistake},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sitDown(t, "account", "create", "a@example.com", "--data", t.TempDir())
			p.sees("password: ", true)
			p.types("correct horse battery\n")
			p.sees("password again: ", true)
			p.types(c.again + "\n")
			if code := p.leaves(); code != c.code {
				t.Errorf("exit code %d:\n%s", code, &p.screen)
			}
			p.shows(c.says)
			if strings.Contains(p.screen.String(), "battery") {
				t.Errorf("the password is on the screen:\n%s", &p.screen)
			}
		})
	}
}

// shows waits for a text that may still be on its way to the screen.
func (p *person) shows(text string) {
	p.t.Helper()
	for begin := time.Now(); !strings.Contains(p.screen.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > typing {
			p.t.Fatalf("no %q in:\n%s", text, &p.screen)
		}
	}
}

// TestInterruptedPrompt leaves the terminal as it was.
func TestInterruptedPrompt(t *testing.T) {
	p := sitDown(t, "account", "create", "a@example.com", "--data", t.TempDir())
	p.sees("password: ", true)
	p.types("correct\x03") // control C
	if code := p.leaves(); code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	p.shows("interrupted; nothing was changed")
}

// TestInterruptedAtOnce is the same in the moment in which typing is hidden.
func TestInterruptedAtOnce(t *testing.T) {
	full.Slow(t)
	for range 5 {
		p := sitDown(t, "account", "create", "a@example.com", "--data", t.TempDir())
		for begin := time.Now(); !p.hidden(); {
			if time.Since(begin) > typing {
				t.Fatalf("nothing is hidden:\n%s", &p.screen)
			}
		}
		p.types("\x03")
		if code := p.leaves(); code != exitFailure {
			t.Errorf("exit code %d", code)
		}
		p.shows("interrupted; nothing was changed")
	}
}

func TestCardPrompt(t *testing.T) {
	data := withKeys(t, 0)
	p := sitDown(t, "account", "card", "a@example.com", "--data", data)
	p.sees("card number: ", true)
	p.types("4242 4242 4242 4242\n")
	p.sees("expiry (MM/YY): ", false)
	p.types("08/40\n")
	p.sees("security code: ", true)
	p.types("987\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.shows("visa 4242, expires 08/2040, valid")
	if screen := p.screen.String(); strings.Contains(screen, "4242 4242") || strings.Contains(screen, "987") {
		t.Errorf("the card is on the screen:\n%s", screen)
	}
}

// TestConfirmation: at a terminal, what can't be undone is asked about, and --yes is the answer.
func TestConfirmation(t *testing.T) {
	data := withKeys(t, 2)
	_, stdout, _ := runHere(t.Context(), t, "key", "list", "--json", "--data", data)
	var keys []struct{ ID string }
	if err := json.Unmarshal([]byte(stdout), &keys); err != nil || len(keys) != 2 {
		t.Fatal(stdout, err)
	}
	for _, c := range []struct {
		name, key, answer, says string
		code                    int
	}{
		{"no answer", keys[0].ID, "\n", "nothing was changed", exitMistake},
		{"no", keys[0].ID, "n\n", "nothing was changed", exitMistake},
		{"yes", keys[0].ID, "y\n", "revoked 20", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sitDown(t, "key", "revoke", c.key, "--data", data)
			p.sees("? [y/N]: ", false)
			p.types(c.answer)
			if code := p.leaves(); code != c.code {
				t.Errorf("exit code %d:\n%s", code, &p.screen)
			}
			p.shows(c.says)
		})
	}
	p := sitDown(t, "key", "revoke", keys[1].ID, "--yes", "--data", data)
	if code := p.leaves(); code != 0 || strings.Contains(p.screen.String(), "[y/N]") {
		t.Errorf("exit code %d:\n%s", code, &p.screen)
	}
}

// TestCredentialsOnTerminal: whoever starts nodegate at a terminal reads them there, and
// no file is left behind.
func TestCredentialsOnTerminal(t *testing.T) {
	data := t.TempDir()
	p := sitDown(t, append(anywhere[:len(anywhere):len(anywhere)], data)...)
	for begin := time.Now(); !strings.Contains(p.screen.String(), "/api/v0/cat"); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > typing {
			t.Fatalf("no credentials in:\n%s", &p.screen)
		}
	}
	if text := p.screen.String(); !strings.Contains(text, "  password  ") || !strings.Contains(text, "  secret    ") || strings.Contains(text, credentialsFile) {
		t.Errorf("the terminal shows\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(data, credentialsFile)); !os.IsNotExist(err) {
		t.Errorf("there is a file too: %v", err)
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
