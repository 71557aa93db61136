package disk

import "syscall"

// Free is the disk space that is left where a folder is, for those who may not use what
// is kept for the system.
func Free(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}
