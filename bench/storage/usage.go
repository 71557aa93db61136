package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage reads what a process on this machine uses. The zero value knows nothing:
// its figures are zero.
type usage struct{ pid int }

func (u usage) known() bool { return u.pid != 0 }

// tick is the unit of the times in /proc, on every Linux that matters.
const tick = 10 * time.Millisecond

// cpu is the processor time used so far, the kernel's work for the process included.
func (u usage) cpu() (time.Duration, error) {
	if !u.known() {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", u.pid))
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
	return time.Duration(user+system) * tick, err
}

// memory is how many bytes of the process are in memory now.
func (u usage) memory() (int64, error) {
	if !u.known() {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.pid))
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
