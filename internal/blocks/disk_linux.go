package blocks

import (
	"os"
	"syscall"
)

// syncData is fdatasync: the size is synced too when it changed, times are not.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = syscall.Fdatasync(int(fd)); failed == syscall.EINTR; failed = syscall.Fdatasync(int(fd)) {
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

func freeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
