package method

import (
	"strings"

	"github.com/nodegate/nodegate/internal/spelling"
)

// Misspelt tells whether a name is almost that of a method in the table, and which one.
// Any other name may be a method that only some nodes have.
func Misspelt(name string) (nearest string, misspelt bool) {
	if _, known := table[name]; known {
		return "", false
	}
	best := maxTypos + 1
	for _, n := range Names() {
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(n)); d < best {
			nearest, best = n, d
		}
	}
	return nearest, nearest != ""
}

// maxTypos is how many letters of a misspelt name are wrong, missing or too many.
const maxTypos = 2
