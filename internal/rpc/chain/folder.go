package chain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/internal/disk"
)

// The files of a chain's folder beside go-ethereum's own.
const (
	markerName    = "imported"     // the first start went through
	importingName = "importing"    // the first start has begun and is not through
	journalName   = "transactions" // what the chain's database can't keep
)

func imported(dir string) bool { return exists(dir, markerName) }

// firstStartUnfinished tells whether nobody was ever answered from a folder.
func firstStartUnfinished(dir string) bool { return exists(dir, importingName) && !imported(dir) }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// prepareDir makes the data folder, clears what an interrupted first start left, and
// refuses a folder of which a part is missing. Only a folder that says of itself that
// its first start was never completed is cleared.
func prepareDir(cfg Config) error {
	dir := cfg.Dir
	if dir == "" {
		return nil
	}
	if imported(dir) {
		return checkParts(dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return badData("chain.open", "can't create the data folder "+dir, err)
	}
	if err := clearUnfinished(dir); err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(dir, importingName), []byte("The first start of this network is not complete. The next one starts over.\n")); err != nil {
		return badData("chain.open", "can't write to the data folder "+dir, err)
	}
	return nil
}

// clearUnfinished empties the folder of an interrupted first start. The file that says
// so stays until everything else is gone.
func clearUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return badData("chain.open", "can't read the data folder "+dir, err)
	}
	begun := exists(dir, importingName)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), importingName) {
			continue
		}
		if !begun {
			return badData("chain.open", fmt.Sprintf("the file %s is missing although there is a chain beside it: restore the whole folder from a backup. To start this network from its genesis, move the folder away first; nothing in it was changed",
				filepath.Join(dir, markerName)), nil)
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return badData("chain.open", "can't clear the unfinished first start in "+dir, err)
		}
	}
	return nil
}

// marker is what the marker file says: what the chain began and ended with after the
// import, and whether a journal belongs to the folder.
type marker struct {
	genesis common.Hash
	number  uint64
	hash    common.Hash
	journal bool
}

// markerFormat is the marker's text. Folders without a journal, of earlier versions,
// have no further line.
const (
	markerFormat = "genesis %s\nhead %d %s\n"
	journalLine  = "journal " + journalName + "\n"
)

func readMarker(dir string) (m marker, err error) {
	text, err := os.ReadFile(filepath.Join(dir, markerName))
	if err != nil {
		return m, badData("chain.open", "can't read the data folder", err)
	}
	var genesis, hash string
	if _, err := fmt.Sscanf(string(text), markerFormat, &genesis, &m.number, &hash); err != nil {
		return m, badData("chain.open", "the file "+filepath.Join(dir, markerName)+" is damaged: restore it from a backup", err)
	}
	m.genesis, m.hash = common.HexToHash(genesis), common.HexToHash(hash)
	m.journal = strings.HasSuffix(string(text), "\n"+journalLine)
	return m, nil
}

// markImported writes the marker durably: it stands for everything before it.
func markImported(dir string, m marker) error {
	if dir == "" {
		return nil
	}
	text := fmt.Sprintf(markerFormat, m.genesis, m.number, m.hash)
	if m.journal {
		text += journalLine
	}
	if err := disk.WriteFile(filepath.Join(dir, markerName), []byte(text)); err != nil {
		return badData("chain.import", "can't write to the data folder", err)
	}
	_ = os.Remove(filepath.Join(dir, importingName)) // of no meaning beside the marker
	return nil
}
