// Package spelling finds what a misspelt name was meant to be.
package spelling

// Nearest returns the candidate that name is most likely a typing error of, or "".
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, c := range candidates {
		if d := Distance(name, c); d <= bestDistance && d < len(c) {
			best, bestDistance = c, d-1
		}
	}
	return best
}

// Distance is the Levenshtein distance: how many letters to insert, delete or replace.
func Distance(a, b string) int {
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
