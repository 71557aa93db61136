package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage reads what a process on this machine uses. The zero value knows nothing:
// its figures are zero.
type Usage struct{ PID int }

// Known tells whether there is a process to look at.
func (u Usage) Known() bool { return u.PID != 0 }

// CPU is the processor time used so far, the kernel's work for the process included. The
// kernel has it in nanoseconds; /proc would have it in steps of 10 ms.
func (u Usage) CPU() (time.Duration, error) {
	if !u.Known() {
		return 0, nil
	}
	var used unix.Timespec
	// The clock of another process has no name but this number (see clock_getcpuclockid(3)).
	err := unix.ClockGettime(int32(^u.PID<<3|2), &used)
	return time.Duration(used.Nano()), err
}

// TreeCPU is CPU with that of the process's children: nginx works in children.
func (u Usage) TreeCPU() (total time.Duration, err error) {
	pids := []int{u.PID}
	kids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", u.PID, u.PID))
	for _, text := range strings.Fields(string(kids)) {
		if kid, err := strconv.Atoi(text); err == nil {
			pids = append(pids, kid)
		}
	}
	for _, pid := range pids {
		used, err := Usage{PID: pid}.CPU()
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
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
