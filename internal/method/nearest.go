package method

import "strings"

// Misspelt tells whether a name is almost that of a method in the table, and which one.
// Any other name may be a method that only some nodes have.
func Misspelt(name string) (nearest string, misspelt bool) {
	if _, known := table[name]; known {
		return "", false
	}
	for _, n := range Names() {
		if d := distance(name, n); d <= maxTypos && (nearest == "" || d < distance(name, nearest)) {
			nearest = n
		}
	}
	return nearest, nearest != ""
}

// maxTypos is how many letters of a misspelt name are wrong, missing or too many.
const maxTypos = 2

// distance is the Levenshtein distance without regard to case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
