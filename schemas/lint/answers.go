package lint

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
)

// Answer says how a table answers a pattern.
type Answer struct {
	Pattern *schemas.Pattern
	// Partitions says how many partitions are read or written.
	Partitions string
	// Order says where the order of the rows comes from: the key, an index, or nothing.
	Order string
	// Bound says what bounds the number of rows.
	Bound string
}

// Answers returns how each pattern is answered, in the order of the file.
func Answers(s *schemas.Schema) []Answer {
	all := make([]Answer, len(s.Patterns))
	for i, p := range s.Patterns {
		all[i] = answer(p)
	}
	return all
}

func answer(p *schemas.Pattern) Answer {
	return Answer{Pattern: p, Partitions: partitionsOf(p), Order: orderOf(p), Bound: boundOf(p)}
}

func partitionsOf(p *schemas.Pattern) string {
	switch {
	case p.Kind == schemas.Batch:
		switch p.Atomic {
		case schemas.AtomicNone, schemas.AtomicAll:
			if spreads(p) {
				return "several partitions"
			}
		case schemas.AtomicShard:
			return "one shard"
		}
		return "one partition"
	case p.Kind == schemas.Scan:
		return "all partitions"
	case p.In != nil && p.In.Role == schemas.Partition:
		return "one partition for each " + p.In.Name
	case p.Kind.Reads() && !bindsPartition(p):
		return "every node"
	}
	return "one partition"
}

func orderOf(p *schemas.Pattern) string {
	switch {
	case !p.Kind.Reads():
		return "-"
	case p.Kind == schemas.Scan:
		return "none"
	case p.In != nil:
		return "the list's"
	case p.Kind == schemas.Get:
		return "-"
	case orderedBy(p) != nil:
		return "index " + p.Index.Name
	case p.Index != nil && !bindsPartition(p):
		return "none"
	case p.Reverse:
		return "key, backwards"
	}
	return "key"
}

func boundOf(p *schemas.Pattern) string {
	switch {
	case p.Kind == schemas.Batch:
		for _, part := range p.Parts {
			if part.Each != "" {
				return "the caller's list"
			}
		}
		return fmt.Sprintf("%d rows", len(p.Parts))
	case p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow:
		return "all of the " + p.Scope.String()
	case p.In != nil:
		return "the caller's list"
	case !p.Kind.Reads():
		return "one row"
	case p.Kind == schemas.Get && p.Element != nil:
		return "one value"
	case p.Kind == schemas.Get:
		return "one row"
	case p.Limit > 0:
		return fmt.Sprintf("limit %d", p.Limit)
	case p.LimitArg:
		return "limit"
	case p.Kind == schemas.Scan:
		return "none, all data"
	}
	if col := leftToGrow(p); col != nil {
		return "none, grows by " + col.Name
	}
	return "none, the rows below its key"
}
