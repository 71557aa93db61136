package server

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupLimit is the memory limit of the control group that the process is in, or of
// the tightest one above it: cgroup v2's memory.max or v1's memory.limit_in_bytes. root
// is the root folder. 0 means that there is no limit, or none that can be read.
func cgroupLimit(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	var lowest int64
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		if len(parts) != 3 {
			continue
		}
		dir, file := "", ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			dir, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		lowest = lower(lowest, lowestAbove(root, dir, parts[2], file))
	}
	return lowest
}

// lowestAbove reads the limits of a group and of all above it. In a container the path
// may be the host's, which is not there: the container's own group is at the top then.
func lowestAbove(root fs.FS, dir, group, file string) (lowest int64) {
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if text, err := fs.ReadFile(root, path.Join(dir, at, file)); err == nil {
			lowest = lower(lowest, parseLimit(string(text)))
		}
		if at == "/" {
			return lowest
		}
	}
}

// unlimited is where numbers begin that mean no limit: v1 has no word for it.
const unlimited = 1 << 60

func parseLimit(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n >= unlimited { // "max" is no number
		return 0
	}
	return n
}

// lower is the lower of two limits, of which 0 is none.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
