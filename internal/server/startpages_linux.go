package server

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ForgetStart gives the pages of the program's code back that only its start needed: most of go-ethereum's code is never run again on a server of remote nodes.
// Pages that are needed come back from the file by themselves. What fails changes nothing.
func ForgetStart() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var begin, end uintptr
		var mode string
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &mode); err != nil || !strings.HasSuffix(line, " "+own) || mode != "r-xp" {
			continue // only code is as it is in the file: the linker has written to what is read-only now
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED)
	}
}
