package lint

import (
	"maps"
	"slices"
	"strings"
)

// hintRules are about the settings of engines.
func hintRules() []*Rule {
	return []*Rule{{
		ID: "unknown-hint", Severity: Error,
		check: func(c *checker) {
			if c.hints == nil {
				return
			}
			for _, t := range c.schema.Tables { // headers, too
				for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
					if err := c.hints(engine, t); err != nil {
						c.atTable(t, "%s: %s", engine, strings.TrimPrefix(err.Error(), "table "+t.Name+": "))
					} else if t.Header() && len(t.Hints[engine]) > 0 {
						c.atTable(t, "%s: a row header stores nothing and takes no hints", engine)
					}
				}
			}
		},
	}}
}
