package schemas

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// workflow reads which access pattern uses what another one yields.
func (p *parser) workflow(n *yaml.Node) {
	for _, e := range p.Mapping(n, "workflow") {
		s := Step{Pattern: p.read(e.Key, e.Name, "in workflow")}
		for _, next := range p.List(e.Value, "workflow of "+e.Name) {
			name, ok := p.Text(next, "a pattern in workflow of "+e.Name)
			if !ok {
				continue
			}
			q := p.read(next, name, "in workflow of "+e.Name)
			switch {
			case q == nil || s.Pattern == nil:
			case slices.Contains(s.Next, q):
				p.Fail(next, "duplicate pattern %q in workflow of %s", name, e.Name)
			case p.schema.leads(q, s.Pattern):
				p.Fail(next, "workflow: %s leads back to %s; expected no cycle through %s", name, e.Name, e.Name)
			default:
				s.Next = append(s.Next, q)
			}
		}
		if s.Pattern != nil {
			p.schema.Workflow = append(p.schema.Workflow, s)
		}
	}
}

// read finds a pattern that yields rows.
func (p *parser) read(n *yaml.Node, name, where string) *Pattern {
	q := p.schema.Pattern(name)
	if q == nil {
		var known []string
		for _, q := range p.schema.Patterns {
			if q.Kind.Reads() {
				known = append(known, q.Name)
			}
		}
		p.Unknown(n, "pattern", name, where, known)
		return nil
	}
	if !q.Kind.Reads() {
		p.Fail(n, "%s is %s, which yields no rows; a workflow has patterns of the kinds get, slice and scan", name, a(q.Kind))
		return nil
	}
	return q
}

// leads reports whether the workflow goes from one pattern to the other, or both
// are the same.
func (s *Schema) leads(from, to *Pattern) bool {
	reached := []*Pattern{from}
	for i := 0; i < len(reached); i++ {
		if reached[i] == to {
			return true
		}
		for _, step := range s.Workflow {
			if step.Pattern != reached[i] {
				continue
			}
			for _, q := range step.Next {
				if !slices.Contains(reached, q) {
					reached = append(reached, q)
				}
			}
		}
	}
	return false
}
