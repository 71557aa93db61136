package dbtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// roleVariable makes a copy of the test binary start a server and wait to be killed.
const roleVariable = "NODEGATE_TEST_ROLE"

func query(dsn string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS t (n BIGINT)")
	return err
}

func TestPostgresIsFresh(t *testing.T) {
	first, second := Postgres(t), Postgres(t)
	if first == second {
		t.Fatal("two tests share a database")
	}
	for _, dsn := range []string{first, second} {
		if err := query(dsn); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPostgresServerFaults(t *testing.T) {
	s := PostgresServer(t)
	check := func(step string, works bool) {
		t.Helper()
		if err := query(s.DSN); (err == nil) != works {
			t.Fatalf("%s: %v", step, err)
		}
	}
	check("started", true)
	s.Pause()
	check("paused", false)
	s.Resume()
	check("resumed", true)
	s.Kill()
	check("killed", false)
	s.Restart()
	check("restarted", true)
	s.Pause() // the cleanup must cope
}

func TestRedisFaults(t *testing.T) {
	s := Redis(t)
	check := func(step string, works bool) {
		t.Helper()
		if err := ping(s.Addr); (err == nil) != works {
			t.Fatalf("%s: %v", step, err)
		}
	}
	check("started", true)
	s.Pause()
	check("paused", false)
	s.Resume()
	check("resumed", true)
	s.Stop()
	check("stopped", false)
	s.Restart()
	check("restarted", true)
	s.Pause()
}

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	c, err := shared()
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(c.process.pid, c.dir)
	time.Sleep(time.Minute)
}

// A test process that is killed leaves neither a server nor a folder behind.
func TestNothingStaysBehind(t *testing.T) {
	Postgres(t) // or skip
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"=serve")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	first, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("it said %q", line)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(pollEvery) {
		_, err := os.Stat(dir)
		gone := syscall.Kill(pid, 0) == syscall.ESRCH
		if gone && os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("server gone: %v, folder: %v", gone, err)
		}
	}
}
