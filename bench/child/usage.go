package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage reads what a process on this machine uses. The zero value knows nothing:
// its figures are zero.
type Usage struct{ PID int }

// Known tells whether there is a process to look at.
func (u Usage) Known() bool { return u.PID != 0 }

// Tick is the unit of the times in /proc, on every Linux that matters.
const Tick = 10 * time.Millisecond

// CPU is the processor time used so far, the kernel's work for the process included.
func (u Usage) CPU() (time.Duration, error) {
	if !u.Known() {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", u.PID))
	if err != nil {
		return 0, err
	}
	// The name in the second field may have blanks; the rest follows its last bracket.
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := strings.Fields(string(rest))
	if len(fields) < 13 {
		return 0, errors.New("the process's stat file is too short")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * Tick, err
}

// Memory is how many bytes of the process are in memory now.
func (u Usage) Memory() (int64, error) {
	if !u.Known() {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("no VmRSS in the process's status file")
}
