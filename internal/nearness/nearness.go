// Package nearness finds the name that a user who has misspelt one most likely meant.
package nearness

import "iter"

// Nearest returns the candidate that is most like name, or "" if none is close: two letters may differ, of long names (as keys of a
// configuration are) a sixth, of short ones no more than half. Of equally close ones it is the first by their letters.
func Nearest(name string, candidates iter.Seq[string]) string {
	best, least := "", max(min(2, len(name)/2), len(name)/6)+1
	for candidate := range candidates {
		if d := distance(name, candidate, least); d < least || (d == least && best != "" && candidate < best) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's distance, or any number above limit if the distance exceeds that.
func distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
