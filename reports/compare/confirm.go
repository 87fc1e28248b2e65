package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Confirm keeps the regressions that the first round, of other trials, found too. It notes
// the regressions that only one of the rounds found. The figures stay those of c: the second
// round was made because of what the first one found, so only its own figures are unbiased.
func (c *Comparison) Confirm(first *Comparison) {
	var confirmed, once []string
	for _, r := range c.Regressions {
		if slices.ContainsFunc(first.Regressions, func(f string) bool { return subject(f) == subject(r) }) {
			confirmed = append(confirmed, r)
		} else {
			once = append(once, fmt.Sprintf("only this second round found %s: that is not confirmed", r))
		}
	}
	for _, r := range first.Regressions {
		if !slices.ContainsFunc(confirmed, func(f string) bool { return subject(f) == subject(r) }) {
			once = append(once, fmt.Sprintf("the first round found %s, this second one does not confirm it", r))
		}
	}
	if len(confirmed) > 0 {
		c.Notes = append(c.Notes,
			fmt.Sprintf("this is the second round of trials; it confirms %d of %d regressions of the first",
				len(confirmed), len(first.Regressions)))
	}
	c.Notes = append(c.Notes, once...)
	c.Regressions = append([]string{}, confirmed...)
}

// subject is a regression without its reason. The reason may have other figures in another
// round.
func subject(regression string) string {
	of, _, _ := strings.Cut(regression, ": ")
	return of
}
