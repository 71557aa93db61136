package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
)

const (
	// formatFile holds the number of the data folder's format.
	formatFile = "format"
	// folderFormat is the format that this version writes. It counts up when an older
	// version would misread or damage something in the folder. The tables of the account
	// store have numbers of their own.
	folderFormat = 1
)

// readFormat is the format of a data folder; 0 is one from before there were numbers, or
// none yet.
//
// Returns BadConfig for a file that can't be read.
func readFormat(dir string) (int, error) {
	path := filepath.Join(dir, formatFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err = errors.Join(err, bad); err != nil || n < 1 {
		return 0, &nodegate.Error{Op: "server.folder", Code: nodegate.BadConfig, Msg: "the format of the data folder can't be read from " + path + ": restore the file from a backup", Err: err}
	}
	return n, nil
}

// checkFormat refuses a folder of a newer version, before anything in it is opened.
func checkFormat(cfg *config.Config) error {
	have, err := readFormat(cfg.Data)
	if err != nil || have <= folderFormat {
		return err
	}
	return &nodegate.Error{Op: "server.folder", Code: nodegate.BadConfig, Msg: fmt.Sprintf(
		"the data folder %s is of a newer nodegate: its format is %d and this one knows %d. Install the newer nodegate again, or restore the backup from before it into an empty folder", cfg.Data, have, folderFormat)}
}

// writeFormat notes that the folder is of this version. The server has the lock.
func writeFormat(cfg *config.Config) error {
	have, err := readFormat(cfg.Data)
	if err != nil || have >= folderFormat {
		return err
	}
	return disk.WriteFile(filepath.Join(cfg.Data, formatFile), []byte(strconv.Itoa(folderFormat)+"\n"))
}
