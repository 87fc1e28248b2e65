package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// fallbackRules are about what runs where an engine cannot run a pattern.
func fallbackRules() []*Rule {
	return []*Rule{{
		ID: "no-fallback", Severity: Error, Engines: EngineNames(),
		check: func(c *checker) {
			for _, p := range c.schema.Patterns {
				if why := c.unable(c.engine, p); why != "" && p.Fallback == nil {
					c.atPattern(p, "%s cannot run it: %s", c.engine, why)
				}
			}
		},
	}, {
		ID: "fallback-scan", Severity: Warning,
		check: func(c *checker) {
			for _, p := range c.schema.Patterns {
				if fb := p.Fallback; fb != nil && fb.Kind == schemas.Scan && p.Kind != schemas.Scan {
					where := cmp.Or(list(c.without(p)), "an engine that cannot run it")
					c.atPattern(p, "%s runs instead on %s: %s", fb.Name, where, cost(p))
				}
			}
		},
	}, {
		ID: "fallback-runs", Severity: Note, Engines: EngineNames(),
		check: func(c *checker) {
			for _, p := range c.schema.Patterns {
				if why := c.unable(c.engine, p); why != "" && p.Fallback != nil {
					c.atPattern(p, "%s cannot run it (%s); %s runs instead: %s",
						c.engine, why, p.Fallback.Name, cost(p))
				}
			}
		},
	}, {
		ID: "fallback-idle", Severity: Note,
		check: func(c *checker) {
			for _, p := range c.schema.Patterns {
				if c.facts != nil && p.Fallback != nil && len(c.without(p)) == 0 {
					c.atPattern(p, "no engine needs its fallback %s", p.Fallback.Name)
				}
			}
		},
	}}
}

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
		return fmt.Sprintf("one call for each part, and an interruption leaves some of them done (atomic: %s, not %s)",
			fb.Atomic, p.Atomic)
	case fb.Kind == schemas.PutIf && p.Kind != schemas.PutIf:
		return "a read, then a conditional write, and both again for each writer that loses a race"
	case a.Partitions != b.Partitions:
		return fmt.Sprintf("it reads %s, not %s", b.Partitions, a.Partitions)
	case a.Order != b.Order:
		return fmt.Sprintf("its order is %s, not %s", b.Order, a.Order)
	}
	return "as many partitions, in the same order"
}
