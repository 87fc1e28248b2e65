package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// fallbackRules are about what runs where an engine cannot run a pattern.
var fallbackRules = []*Rule{{
	ID: "no-fallback", Severity: Error, Engines: EngineNames(),
	pattern: func(c *checker, p *schemas.Pattern) {
		if why := c.unable(c.engine, p); why != "" && p.Fallback == nil {
			c.atPattern(p, "%s cannot run it: %s", c.engine, why)
		}
	},
}, {
	ID: "fallback-scan", Severity: Warning,
	pattern: func(c *checker, p *schemas.Pattern) {
		if fb := p.Fallback; fb != nil && fb.Kind == schemas.Scan && p.Kind != schemas.Scan {
			where := cmp.Or(list(c.without(p)), "an engine that cannot run it")
			c.atPattern(p, "%s runs instead on %s: %s", fb.Name, where, cost(p))
		}
	},
}, {
	ID: "fallback-runs", Severity: Note, Engines: EngineNames(),
	pattern: func(c *checker, p *schemas.Pattern) {
		if why := c.unable(c.engine, p); why != "" && p.Fallback != nil {
			c.atPattern(p, "%s cannot run it (%s); %s runs instead: %s",
				c.engine, why, p.Fallback.Name, cost(p))
		}
	},
}, {
	ID: "fallback-idle", Severity: Note,
	pattern: func(c *checker, p *schemas.Pattern) {
		if c.facts != nil && p.Fallback != nil && len(c.without(p)) == 0 {
			c.atPattern(p, "unused fallback %s: no engine needs it", p.Fallback.Name)
		}
	},
}}

// unable says why an engine cannot run a pattern as it is declared, or "". A statement of CQL runs on
// Cassandra as it is: its driver refuses only the pattern that mailbench made of it.
func (c *checker) unable(engine string, p *schemas.Pattern) string {
	if c.facts == nil || engine == cassandra && p.Imported != nil {
		return ""
	}
	return c.facts.Unable(engine, p)
}

// without returns the engines that cannot run a pattern.
func (c *checker) without(p *schemas.Pattern) []string {
	return slices.DeleteFunc(EngineNames(), func(engine string) bool { return c.unable(engine, p) == "" })
}

// cost says what the fallback of a pattern does in addition or in another way.
func cost(p *schemas.Pattern) string {
	fb, a, b := p.Fallback, answer(p), answer(p.Fallback)
	switch {
	case p.Kind == schemas.Batch && p.Atomic != fb.Atomic:
		return fmt.Sprintf("one request per part, and an interruption leaves it partially applied (atomic: %s, not %s)",
			fb.Atomic, p.Atomic)
	case fb.Kind == schemas.PutIf && p.Kind != schemas.PutIf:
		return "a read, then a conditional write, and both again after each lost race"
	case a.Partitions != b.Partitions:
		return fmt.Sprintf("it reads %s, not %s", b.Partitions, a.Partitions)
	case a.Order != b.Order:
		return fmt.Sprintf("its order is %s, not %s", b.Order, a.Order)
	}
	return "as many partitions, in the same order"
}

// hintRules are about the settings of engines.
var hintRules = []*Rule{{
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
					c.atTable(t, "%s: a row header stores no rows and accepts no hints", engine)
				}
			}
		}
	},
}}

// mostInDatabase is the size in bytes below which a database is better for a blob than a file.
const mostInDatabase = 256 << 10

// outsideRules are about bodies in a store of blobs outside of the engine.
var outsideRules = []*Rule{{
	ID: "content-outside", Severity: Note,
	table: func(c *checker, t *schemas.Table) {
		c.outside(t, func(r *schemas.Rows, store string) {
			c.atTable(t, "%s of more than %s is a file of %s: the engine neither replicates nor backs it up, and no batch includes it",
				schemas.Content[r.Of], words.Size(float64(r.Above)), store)
		})
	},
}, {
	ID: "small-files", Severity: Note,
	table: func(c *checker, t *schemas.Table) {
		c.outside(t, func(r *schemas.Rows, store string) {
			if r.Above < mostInDatabase {
				c.atTable(t, "%s becomes a file of %s from %s on, and a database handles less than %s better",
					schemas.Content[r.Of], store, words.Size(float64(r.Above)), words.Size(mostInDatabase))
			}
		})
	},
}}

// outside yields the rows of a table whose contents a store outside of the engine may have.
func (c *checker) outside(t *schemas.Table, yield func(r *schemas.Rows, store string)) {
	for _, r := range t.Rows {
		if store := r.Store(); store != "" && schemas.Content[r.Of] != "" {
			yield(r, store)
		}
	}
}
