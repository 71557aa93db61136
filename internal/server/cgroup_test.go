package server

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":              {nil, 0},
		"v2":                   {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1073741824\n"}, 1 << 30},
		"v2 without a limit":   {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"v2, tighter above":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4096\n", "sys/fs/cgroup/a/memory.max": "1024\n"}, 1024},
		"v2 in a container":    {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2048\n"}, 2048},
		"v1":                   {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4096\n"}, 4096},
		"v1 without a limit":   {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"v1 in a container":    {map[string]string{"proc/self/cgroup": "4:memory:/docker/1f\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "8192\n"}, 8192},
		"both":                 {map[string]string{"proc/self/cgroup": "0::/\n4:cpu,memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4096\n"}, 4096},
		"a path that leaves":   {map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/x/memory.max": "512\n"}, 512},
		"lines that are wrong": {map[string]string{"proc/self/cgroup": "\nx\n0:\n::::\n0::/a\n", "sys/fs/cgroup/a/memory.max": "one\n"}, 0},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupLimit(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
