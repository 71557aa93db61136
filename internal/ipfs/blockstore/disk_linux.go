package blockstore

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

// The modes of fallocate that free a range and leave the size alone.
const punchMode = 0x01 | 0x02 // FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE

// punchHole frees a range of a file.
func punchHole(f *os.File, off, length int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = syscall.Fallocate(int(fd), punchMode, off, length); failed == syscall.EINTR; failed = syscall.Fallocate(int(fd), punchMode, off, length) {
		}
	})
	if err == nil {
		err = failed
	}
	return err
}
