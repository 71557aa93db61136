package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/full"
)

// TestNoSecretInFlags walks the whole command line: what it takes is visible to
// everyone on the machine.
func TestNoSecretInFlags(t *testing.T) {
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	harmless := []string{"email", "account", "plan", "id", "command", "network", "node", "role", "dir|file", "shell", "state"}
	for _, n := range leaves(parser.Model.Node) {
		for _, p := range n.Positional {
			if !slices.Contains(harmless, p.Name) {
				t.Errorf("%s takes %s: say here that it is harmless", n.Path(), p.Name)
			}
		}
		for _, f := range n.Flags {
			for _, word := range []string{"password", "secret", "card", "number", "cvc", "code", "pepper"} {
				if strings.Contains(f.Name, word) && !f.IsBool() {
					t.Errorf("%s takes the value of --%s", n.Path(), f.Name)
				}
			}
		}
	}
}

// TestPassword signs in with a password that came through the input.
func TestPassword(t *testing.T) {
	data := t.TempDir()
	password := " with spaces, ünïcode "
	if code, _, stderr := runProcess(t, data, password+"\r\nmore\n", "account", "create", "a@example.com", "--password-stdin"); code != 0 {
		t.Fatal(stderr)
	}
	cfg := config.Default()
	cfg.Data = data
	c, err := server.OpenControl(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Accounts.SignIn(t.Context(), server.Attempt{Email: "a@example.com", Password: password, From: "test"}); err != nil {
		t.Error(err)
	}
}

// TestDeleteConfirms: without a terminal an account is deleted only with --yes, also the last
// operator's.
func TestDeleteConfirms(t *testing.T) {
	data := t.TempDir()
	if code, _, stderr := runProcess(t, data, "a long password\n", "account", "create", "a@example.com", "--operator", "--password-stdin"); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, stderr := runProcess(t, data, "a@example.com\n", "account", "delete", "a@example.com"); code == 0 || !strings.Contains(stderr, "no terminal to confirm on: add --yes to delete a@example.com") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := runProcess(t, data, "", "account", "delete", "a@example.com", "--yes"); code != 0 {
		t.Error(stderr)
	}
}

// TestInput reads lines as they come.
func TestInput(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, c := range []struct{ name, input, want, problem string }{
		{"a line", "one\ntwo\n", "one", ""},
		{"of another system", "one\r\n", "one", ""},
		{"no end of line", "one", "one", ""},
		{"spaces stay", " one \n", " one ", ""},
		{"empty line", "\n", "", "the password is empty"},
		{"nothing", "", "", "ends before the password"},
		{"the longest", long[1:] + "\n", long[1:], ""},
		{"too long", long + "\n", "", "too long"},
	} {
		got, err := newInput(strings.NewReader(c.input)).password(nil)
		if got != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		text        string
		month, year int
	}{
		{"08/30", 8, 30}, {" 8 / 2030 ", 8, 2030}, {"13/30", 13, 30}, {"0830", 0, 0}, {"", 0, 0}, {"aug/30", 0, 0}, {"08/30/1", 0, 0},
	} {
		month, year, err := readExpiry(c.text)
		if month != c.month || year != c.year || (err != nil) != (c.month == 0) {
			t.Errorf("%q is %d, %d, %v", c.text, month, year, err)
		}
	}
}

// TestSafe prints any text on one line, and loses none of it.
func TestSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		shown := safe(text)
		if strings.ContainsFunc(shown, unprintable) || shown == "" {
			t.Fatalf("%q is shown as %q", text, shown)
		}
		if shown != text && text != "" {
			if back, err := strconv.Unquote(shown); err != nil || back != text {
				t.Fatalf("%q is shown as %q", text, shown)
			}
		}
		line, err := jsonLine(map[string]string{"text": text})
		if err != nil || strings.ContainsFunc(string(line), unprintable) {
			t.Fatalf("%q is %s, %v", text, line, err)
		}
		var back map[string]string
		if err := json.Unmarshal(line, &back); err != nil || utf8.ValidString(text) && back["text"] != text {
			t.Fatalf("%q comes back from %s as %q, %v", text, line, back["text"], err)
		}
	})
}

// edit changes the audit log as somebody with the file can.
func edit(t *testing.T, data, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "nodegate.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{"DROP TRIGGER IF EXISTS audit_no_update", "DROP TRIGGER IF EXISTS audit_no_delete"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	result, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
}

// withKeys makes an account with keys, so that the audit log has entries.
func withKeys(t *testing.T, keys int) (data string) {
	t.Helper()
	data = t.TempDir()
	commands := [][]string{{"account", "create", "a@example.com", "--no-password"}}
	for range keys {
		commands = append(commands, []string{"key", "create", "--account", "a@example.com"})
	}
	for _, args := range commands {
		if code, _, stderr := runHere(t.Context(), t, append(args, "--data", data)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	return data
}

func TestAuditVerify(t *testing.T) {
	full.Slow(t)
	for _, c := range []struct {
		name, statement string
		broken          int
	}{
		{"whole", "", 0},
		{"a detail", "UPDATE audit SET detail = 'nothing happened' WHERE number = 2", 2},
		{"an actor", "UPDATE audit SET actor = 'somebody else' WHERE number = 3", 3},
		{"a time", "UPDATE audit SET at = at + 1 WHERE number = 1", 1},
		{"a digest", "UPDATE audit SET digest = zeroblob(32) WHERE number = 4", 4},
		{"taken out", "DELETE FROM audit WHERE number = 2", 2},
		{"cut off", "DELETE FROM audit WHERE number = 5", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := withKeys(t, 4)
			if c.statement != "" {
				edit(t, data, c.statement)
			}
			code, stdout, stderr := runHere(t.Context(), t, "audit", "verify", "--data", data)
			if c.broken == 0 {
				if code != 0 || !strings.HasPrefix(stdout, "OK: 5 entries verified\nlast digest: ") || stderr != "" {
					t.Errorf("%d %s%s", code, stdout, stderr)
				}
				return
			}
			if code != exitFailure || !strings.Contains(stderr, fmt.Sprintf("entry %d", c.broken)) || !strings.Contains(stdout, fmt.Sprintf("MODIFIED: %d entries verified\n", c.broken-1)) {
				t.Errorf("exit code %d, %s%s", code, stdout, stderr)
			}
			code, stdout, _ = runHere(t.Context(), t, "audit", "verify", "--json", "--data", data)
			var report struct {
				Whole  bool
				Broken int
			}
			if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitFailure || report.Whole || report.Broken != c.broken {
				t.Errorf("%d %s %v", code, stdout, err)
			}
		})
	}
}

// TestHostileText puts payloads where a user's text stands: each gives one line,
// and nothing that a terminal acts upon.
func TestHostileText(t *testing.T) {
	payloads := []string{
		"\r\nforged", "a\nb", "\n", "\r", "\t\ttabs", "\v\f", "\x00", "\x1b[2J\x1b[H", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;Zm9v\x07", "\b\b\b\b",
		"\x7f", "\u009b31m", "\u0085next", "\u2028line", "\u2029paragraph", "\u202egnp.exe", "\u200bzero width", "\xff\xfe", "\xc3", "\x1bP+q\x1b\\",
		"\x1b[1A2026-11-15T07:25:02Z", "x\r2 forged", "\ufeffmark",
	}
	data := withKeys(t, len(payloads))
	for i, p := range payloads {
		edit(t, data, "UPDATE audit SET detail = ?, actor = ? WHERE number = ?", p, p, i+2)
	}
	code, stdout, stderr := runHere(t.Context(), t, "audit", "list", "--after", "1", "--data", data)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != 0 || len(lines) != len(payloads)+1 {
		t.Fatalf("%d lines for %d entries: %d %s", len(lines), len(payloads), code, stderr)
	}
	for i, line := range lines[1:] {
		if strings.ContainsFunc(line, unprintable) || !strings.HasPrefix(line, strconv.Itoa(i+2)+" ") || !strings.HasSuffix(line, strconv.Quote(payloads[i])) {
			t.Errorf("%q is shown as %q", payloads[i], line)
		}
	}
	_, stdout, _ = runHere(t.Context(), t, "audit", "list", "--after", "1", "--json", "--data", data)
	var entries []struct{ Detail string }
	if err := json.Unmarshal([]byte(stdout), &entries); err != nil || len(entries) != len(payloads) || strings.Count(stdout, "\n") != len(payloads)+2 {
		t.Errorf("%d entries on %d lines, %v", len(entries), strings.Count(stdout, "\n"), err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(stdout, "\n", ""), unprintable) {
		t.Errorf("the JSON has control characters: %q", stdout)
	}
}

// TestActor looks at what the audit log says about a command.
func TestActor(t *testing.T) {
	data := withKeys(t, 1)
	_, stdout, _ := runHere(t.Context(), t, "audit", "list", "--json", "--data", data)
	var entries []struct {
		Number                      int64
		Actor, From, Action, Digest string
	}
	if err := json.Unmarshal([]byte(stdout), &entries); err != nil || len(entries) != 2 {
		t.Fatal(stdout, err)
	}
	for i, action := range []string{"account.create", "key.create"} {
		e := entries[i]
		if e.Number != int64(i+1) || e.Actor != "command line" || e.From != userName() || e.Action != action || len(e.Digest) != 64 {
			t.Errorf("entry %d is %+v", i+1, e)
		}
	}
}

func TestUsageQuery(t *testing.T) {
	now := time.Date(2030, 5, 20, 10, 30, 40, 0, time.UTC)
	for _, c := range []struct {
		from, to, by string
		wantFrom     time.Time
		want         nodegate.Resolution
		problem      string
	}{
		{"24h", "0s", "", time.Date(2030, 5, 19, 10, 0, 0, 0, time.UTC), nodegate.ByHour, ""},
		{"1h", "0s", "", time.Date(2030, 5, 20, 9, 30, 0, 0, time.UTC), nodegate.ByMinute, ""},
		{"2400h", "0s", "", time.Date(2030, 2, 9, 0, 0, 0, 0, time.UTC), nodegate.ByDay, ""},
		{"73h", "72h", "", time.Date(2030, 5, 17, 9, 0, 0, 0, time.UTC), nodegate.ByHour, ""},
		{"24h", "0s", "day", time.Date(2030, 5, 19, 0, 0, 0, 0, time.UTC), nodegate.ByDay, ""},
		{"48h", "0s", "minute", time.Date(2030, 5, 18, 10, 30, 0, 0, time.UTC), nodegate.ByMinute, ""},
		{"2030-05-20T08:15:30+02:00", "2030-05-20T08:00:00Z", "minute", time.Date(2030, 5, 20, 6, 15, 0, 0, time.UTC), nodegate.ByMinute, ""},
		{"49h", "0s", "minute", time.Time{}, 0, "kept for 48h"},
		{"2161h", "0s", "hour", time.Time{}, 0, "kept for 2160h"},
		{"1h", "2h", "", time.Time{}, 0, "--from must be before --to"},
		{"yesterday", "0s", "", time.Time{}, 0, "--from must be a duration"},
		{"1h", "-1h", "", time.Time{}, 0, "--to must be a duration"},
	} {
		cmd := usageCmd{From: c.from, To: c.to, By: c.by}
		q, err := cmd.query(now)
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil || q.By != c.want || !q.From.Equal(c.wantFrom):
			t.Errorf("%+v: from %v by %v, %v", c, q.From, q.By, err)
		}
	}
}

func TestSumUsage(t *testing.T) {
	noon := time.Date(2030, 5, 20, 12, 0, 0, 0, time.UTC)
	row := func(key, method, outcome string, hour, requests, credits int64, took time.Duration) nodegate.Usage {
		u := nodegate.Usage{UsageKey: nodegate.UsageKey{KeyID: key, Network: "devnet", Method: method, Outcome: outcome}, At: noon.Add(time.Duration(hour) * time.Hour), Requests: requests, Credits: credits}
		u.Latency[nodegate.Bucket(took)] = requests
		return u
	}
	rows := []nodegate.Usage{
		row("k1", "eth_call", "ok", 0, 10, 800, time.Millisecond), row("k2", "eth_call", "ok", 0, 10, 800, time.Millisecond),
		row("k1", "eth_call", "busy", 0, 1, 0, time.Second), row("k1", "eth_call", "ok", 1, 5, 400, time.Millisecond),
	}
	lines, total := sumUsage(rows, false)
	if len(lines) != 2 || lines[0].Outcome != "busy" || lines[0].sum.Errors != 1 || lines[1].sum.Requests != 25 || lines[1].sum.Credits != 2000 || lines[1].sum.Errors != 0 || !lines[1].At.IsZero() {
		t.Errorf("the lines are %+v", lines)
	}
	if total.sum.Requests != 26 || total.sum.Credits != 2000 || total.sum.Errors != 1 {
		t.Errorf("the total is %+v", total)
	}
	if v := total.view(); v.P50 < 0.5 || v.P50 > 2 || v.P95 > 2 {
		t.Errorf("p50 %v, p95 %v", v.P50, v.P95)
	}
	if lines, _ = sumUsage(rows, true); len(lines) != 3 || !lines[0].At.Equal(noon) || lines[1].sum.Requests != 20 || !lines[2].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("by the hour they are %+v", lines)
	}
}
