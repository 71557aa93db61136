package files

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
)

const (
	rawCID    = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
	folderCID = "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354"
	valueCID  = "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"
)

func TestFolder(t *testing.T) {
	pins := []nodegate.Pin{
		{CID: rawCID, Name: "b.txt", Size: 3}, {CID: folderCID, Name: "b.txt", Size: 9}, {CID: rawCID, Name: "../a", Size: 3}, {CID: folderCID}, {CID: rawCID, Name: "..", Size: 3},
	}
	data, err := Folder(pins)
	if err != nil {
		t.Fatal(err)
	}
	var node folderNode
	if err := json.Unmarshal(data, &node); err != nil {
		t.Fatal(err)
	}
	want := []folderLink{
		{jsonLink{rawCID}, "..-a", 3}, {jsonLink{folderCID}, "b (2).txt", 9}, {jsonLink{rawCID}, "b.txt", 3}, {jsonLink{rawCID}, rawCID, 3}, {jsonLink{folderCID}, folderCID, 0},
	}
	if len(node.Links) != len(want) || node.Data.Slash.Bytes != "CAE" {
		t.Fatalf("%s", data)
	}
	for i := range want {
		if node.Links[i] != want[i] {
			t.Errorf("entry %d is %+v, want %+v", i, node.Links[i], want[i])
		}
	}
}

func TestFolderRefuses(t *testing.T) {
	for name, pins := range map[string][]nodegate.Pin{
		"nothing": nil, "too many": make([]nodegate.Pin, MaxFolder+1), "a value": {{CID: valueCID, Name: "value"}}, "no CID": {{CID: "nonsense"}},
	} {
		if data, err := Folder(pins); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("%s: %s, %v", name, data, err)
		}
	}
}
