package chaos

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/nodegate/nodegate/test/full"
)

// fullEnv asks for everything at its full length.
const fullEnv = "NODEGATE_CHAOS"

// length is how long a loop is: short beside other tests, whole in make chaos.
func length(short, whole int) int {
	if os.Getenv(fullEnv) != "" {
		return whole
	}
	return short
}

// outcome is one line of the table.
type outcome struct {
	row                          int // of the table of faults
	what, target, measured, text string
	late                         bool // a time was missed
}

// outcomes are the lines of all tests that ran.
var outcomes struct {
	sync.Mutex
	list []*outcome
}

// begin opens a line of the table. The test's own fate closes it.
func begin(t *testing.T, row int, what, target string) *outcome {
	o := &outcome{row: row, what: what, target: target, measured: "-"}
	t.Cleanup(func() {
		outcomes.Lock()
		defer outcomes.Unlock()
		switch {
		case t.Failed():
			o.text = "FAILED"
		case t.Skipped():
			o.text = "skipped"
		case o.late:
			o.text = "ok, but MISSED the time"
		default:
			o.text = "ok"
		}
		outcomes.list = append(outcomes.list, o)
	})
	return o
}

// say notes what was measured.
func (o *outcome) say(format string, args ...any) { o.measured = fmt.Sprintf(format, args...) }

// within notes a time that should hold. Missing it is shown and fails no test: the
// machine may be busy with something else.
func (o *outcome) within(holds bool) { o.late = o.late || !holds }

// skip ends a test that can't run here.
func (o *outcome) skip(t *testing.T, format string, args ...any) {
	t.Helper()
	o.say(format, args...)
	t.Skipf(format, args...)
}

func printTable() {
	slices.SortStableFunc(outcomes.list, func(a, b *outcome) int { return cmp.Compare(a.row, b.row) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nrow\twhat\ttarget\tmeasured\tok\n")
	for _, o := range outcomes.list {
		fmt.Fprintln(w, strings.Join([]string{fmt.Sprint(o.row), o.what, o.target, o.measured, o.text}, "\t"))
	}
	_ = w.Flush()
}

func TestMain(m *testing.M) {
	for name, client := range map[string]func(string) error{innocentEnv: runErrand, raidEnv: runRaid, crowdEnv: runMob} {
		told := os.Getenv(name)
		if told == "" {
			continue
		}
		if err := client(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	full.Short("TestRemoteCancel", "TestClientsByAddress", "TestAdminListener", "TestShutdownDelay")
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	if testing.Verbose() && len(outcomes.list) > 0 {
		printTable()
	}
	os.Exit(code)
}
