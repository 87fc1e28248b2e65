package strict

import (
	"cmp"
	"fmt"
	"strings"
)

// Unknown returns an error for a word that is not one of the known ones; it names the
// one that was probably meant. what is the kind of word.
func Unknown(what, word string, known ...string) error {
	suggestion := cmp.Or(Suggest(word, known), "; expected one of "+cmp.Or(strings.Join(known, ", "), "none"))
	return fmt.Errorf("unknown %s %q%s", what, word, suggestion)
}

// Suggest ends an error about a word: it names the known one that was probably meant. It is "" if none is near.
func Suggest(word string, known []string) string { return didYouMean(Nearest(word, known)) }

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// synonyms are other words of the field for keys, operations, phases, metrics, commands and flags.
var synonyms = map[string]string{
	"keys": "access", "answer": "conclusion", "dataset": "population", "deep": "deep_share", "doc": "description",
	"cold": "drop-caches", "depth": "page_number", "chance": "probability", "on": "set_share",
	"says": "text", "width": "range", "think": "think_time",
	"lag": "wait", "tables": "csv", "growth": "csv", "maildir": "mbox",

	"account-counts": "totals", "folder-counts": "counters", "list-all": "all-mail", "list-folders": "folders",
	"list-range": "slice", "list-seen-by": "seen-by", "list-subscriptions": "subscriptions", "mark-seen": "seen",
	"read": "open", "read-account": "nested", "read-attachment": "attachment", "read-range": "range",
	"read-raw": "raw",

	"refile": "bulk-move", "conditional-flags": "james@checked-flags", "hard-delete": "elasticinbox@hard",
	"james@plain-flags": "james@checked-flags", "copies": "recipients", "documents": "special-ops",
	"sessions": "user-sessions",

	"words": "enum", "variant-of": "extends", "add": "increment", "most": "max", "least": "min",
	"leftover": "orphan_ok", "in": "parent", "refers": "references", "remove": "remove-element",

	"workers": "concurrency", "force": "overwrite", "mail-limit": "max-mail-size", "max-lag": "max-wait",
	"namespace": "keyspace", "no-audit": "no-verify",
	"shard": "segment", "shard-timeout": "segment-timeout",
	"step": "step-time", "fail-over": "threshold",

	"calls": "requests", "examined": "scanned", "rows-scanned": "scanned",
	"stored": "disk", "start": "up", "stop": "down", "bench": "run", "benchmark": "run",
}

// Renamed returns today's word for a word of an earlier version, or "".
func Renamed(word string) string { return synonyms[strings.ReplaceAll(word, " ", "-")] }

// Nearest returns the known word that word was probably meant to be: one with the same meaning, or the
// one with the fewest single-letter edits, if they are at most a third of the bytes of word, or one
// edit for a short word. It returns "" if none is near.
func Nearest(word string, known []string) string {
	// Parts of the names of patterns and metrics.
	word = strings.NewReplacer("_singly", "_unbatched", "_apart", "_unbatched", "p999", "p99.9").Replace(word)
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimPrefix(word, "--")))
	head, rest, dotted := strings.Cut(plain, ".")
	meant := synonyms[head]
	if dotted {
		meant += "." + rest
	}
	for _, k := range known {
		if meant != "" && meant == strings.TrimPrefix(k, "--") {
			return k
		}
	}
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
// neighbors that turn a into b (optimal string alignment, by bytes).
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
