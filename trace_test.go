package nodegate

import "testing"

// TestLevels: the numbers are in databases, so they never change, and names and order are
// those of the documentation.
func TestLevels(t *testing.T) {
	for number, name := range []string{"", "roots", "header", "agreed"} {
		if l := Level(number); l.String() != name || LevelNamed(name) != l {
			t.Errorf("level %d is %q, and %q is level %d", number, l, name, LevelNamed(name))
		}
	}
	order := []Level{LevelNone, LevelAgreed, LevelHeader, LevelRoots}
	if len(order) != Levels {
		t.Fatalf("%d levels are in order, of %d", len(order), Levels)
	}
	for i, a := range order {
		for j, b := range order {
			if a.Reaches(b) != (i >= j) {
				t.Errorf("%q reaches %q: %v", a, b, a.Reaches(b))
			}
		}
	}
	if none := LevelNamed("none"); none != LevelNone {
		t.Errorf("none is level %d", none)
	}
	if unknown := Level(200); unknown.Reaches(LevelNone) || unknown.String() != "" {
		t.Error("a level that isn't known counts")
	}
}
