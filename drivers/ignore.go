package drivers

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Ignore moves the differences that words name from Drifts to Ignored. A word is a setting, column,
// index or type (read_repair; compaction has all its fields), TABLE.PART (orders.read_repair), a
// table, for all that differs in it, or a kind ("extra column"). It returns the words that name none.
func (c *Comparison) Ignore(words []string) (idle []string) {
	for _, word := range words {
		before := len(c.Drifts)
		c.Drifts = slices.DeleteFunc(c.Drifts, func(d Drift) bool {
			match := named(d.Difference, word)
			if match {
				c.Ignored = append(c.Ignored, d)
			}
			return match
		})
		if len(c.Drifts) == before {
			idle = append(idle, word)
		}
	}
	return idle
}

// named reports whether a word of Ignore names a difference.
func named(d schemas.Difference, word string) bool {
	if word == "" {
		return false
	}
	part := d.Part
	if d.Kind == schemas.DifferentSetting || d.Kind == schemas.DifferentExpiry {
		_, part, _ = strings.Cut(part, ".") // ENGINE.SETTING
	}
	under := func(word string) bool { return part != "" && (part == word || strings.HasPrefix(part, word+".")) }
	ofTable, inTable := strings.CutPrefix(word, d.Table+".")
	return word == d.Kind.String() || word == d.Table || under(word) || d.Table != "" && inTable && under(ofTable)
}
