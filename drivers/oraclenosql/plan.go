package oraclenosql

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// queryPlan is what the server's plan of a query says.
type queryPlan struct {
	asks   string // which partitions
	table  string
	index  string
	equal  []string // columns of the index with one value
	ranges []string // columns of it with a range
	covers bool     // the index has all columns that the query needs
	// filters: rows or entries of the index are read that are not returned.
	filters bool
	sorts   bool // rows are sorted
}

// distributions are the words for which partitions a query asks.
var distributions = map[string]string{
	"SINGLE_PARTITION": "one partition", "ALL_PARTITIONS": "all partitions", "ALL_SHARDS": "all shards",
}

// readPlan reads a plan as the server writes it, a tree of iterators in JSON. ok is false if
// it is no such plan.
func readPlan(text string) (p queryPlan, ok bool) {
	var tree map[string]any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return p, false
	}
	p.read(tree)
	return p, p.table != ""
}

// read reads an iterator and those within.
func (p *queryPlan) read(node any) {
	switch node := node.(type) {
	case []any:
		for _, n := range node {
			p.read(n)
		}
	case map[string]any:
		switch kind, _ := node["iterator kind"].(string); kind {
		case "RECEIVE":
			word, _ := node["distribution kind"].(string)
			if p.asks = distributions[word]; p.asks == "" {
				p.asks = word
			}
		case "SORT", "SORT2":
			p.sorts = true
		case "SELECT":
			p.filters = p.filters || node["WHERE"] != nil
		case "TABLE":
			p.reads(node)
		}
		for _, name := range slices.Sorted(maps.Keys(node)) {
			p.read(node[name])
		}
	}
}

// reads reads the iterator of a table.
func (p *queryPlan) reads(node map[string]any) {
	full, _ := node["target table"].(string)
	_, p.table, _ = strings.Cut(full, ":")
	p.index, _ = node["index used"].(string)
	p.covers, _ = node["covering index"].(bool)
	p.filters = p.filters || node["index filtering predicate"] != nil || node["filtering predicate"] != nil
	scans, _ := node["index scans"].([]any)
	for _, s := range scans {
		scan, _ := s.(map[string]any)
		p.equal = columnsOf(p.equal, scan["equality conditions"])
		p.ranges = columnsOf(p.ranges, scan["range conditions"])
	}
}

func columnsOf(names []string, conditions any) []string {
	m, _ := conditions.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// String writes the plan as a line.
func (p *queryPlan) String() string {
	line := p.table + " by its " + p.index
	if p.index != "primary index" {
		line = p.table + " by index " + p.index
	}
	if p.asks != "" {
		line = p.asks + ": " + line
	}
	if len(p.equal) > 0 {
		line += ", equal " + strings.Join(p.equal, ", ")
	}
	if len(p.ranges) > 0 {
		line += ", range of " + strings.Join(p.ranges, ", ")
	}
	if len(p.equal)+len(p.ranges) == 0 {
		line += ", all of it"
	}
	for _, w := range []struct {
		on   bool
		word string
	}{{p.covers, "reads no rows beside the index"}, {p.filters, "leaves some out"}, {p.sorts, "sorts"}} {
		if w.on {
			line += "; " + w.word
		}
	}
	return line
}

// Plans implements drivers.Planner.
func (st *statement) Plans() []string {
	var lines []string
	if st.inList != nil && st.inList.plan != nil {
		lines = append(lines, fmt.Sprintf("%s (several of %s)", st.inList.plan, st.Pattern().In.Name))
	}
	for with, q := range st.queries {
		if q == nil || q.plan == nil {
			continue
		}
		line := q.plan.String()
		if words := st.given(with); words != "" {
			line = fmt.Sprintf("%s (%s)", line, words)
		}
		lines = append(lines, line)
	}
	for _, part := range st.parts {
		lines = append(lines, part.Plans()...)
	}
	return lines
}
