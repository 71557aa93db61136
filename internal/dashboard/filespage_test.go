package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/files"
)

// lookedAt is a shelf that counts how often all pins are read.
type lookedAt struct {
	files.Shelf
	lists int
}

func (l *lookedAt) Pins(context.Context, string, func(nodegate.Pin) bool) error {
	l.lists++
	return nil
}

func (l *lookedAt) Unpinned(context.Context, string, func(nodegate.Pin) bool) error {
	l.lists++
	return nil
}

func (l *lookedAt) PinOf(_ context.Context, accountID, cid string) (nodegate.Pin, error) {
	if accountID != "a" || cid != "mine" {
		return nodegate.Pin{}, &nodegate.Error{Code: nodegate.NotFound}
	}
	return nodegate.Pin{AccountID: accountID, CID: cid, Name: "name", Size: 1000}, nil
}

// TestJustAdded: the files that an address names are found by their CIDs. To search all pins
// for each of them took two readings of everything that the account has.
func TestJustAdded(t *testing.T) {
	shelf := &lookedAt{}
	v := &visit{
		Dashboard: &Dashboard{cfg: Config{Files: files.New(shelf, nil)}},
		req:       httptest.NewRequest(http.MethodGet, "/files", nil), account: &nodegate.Account{ID: "a"},
	}
	list, err := justAdded(v, []string{"mine", "another's", "\x00", "mine", "x", "beyond the first five"})
	if err != nil || len(list) != 2 || list[0].Name != "name" || list[0].Hash != "mine" {
		t.Errorf("%+v, %v", list, err)
	}
	if shelf.lists != 0 {
		t.Errorf("all pins were read %d times", shelf.lists)
	}
}
