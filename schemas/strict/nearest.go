package strict

import (
	"fmt"
	"strings"
)

// Unknown returns an error for a word that is not one of the known ones; it names the
// one that was probably meant. what is the kind of word.
func Unknown(what, word string, known ...string) error {
	if near := Nearest(word, known); near != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, word, near)
	}
	return fmt.Errorf("unknown %s %q; expected one of %s", what, word, strings.Join(known, ", "))
}

// Nearest returns the known word that word was probably meant to be: the one
// with the fewest single-letter edits, if they are at most a third of the bytes of
// word, or one edit for a short word. It returns "" if none is near.
func Nearest(word string, known []string) string {
	best, bestEdits := "", max(1, len(word)/3)+1
	for _, k := range known {
		edits := distance(strings.ToLower(word), strings.ToLower(k))
		if edits < bestEdits && edits < len(k) {
			best, bestEdits = k, edits
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment, by bytes).
func distance(a, b string) int {
	var before []int // the row two up, for swaps
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
