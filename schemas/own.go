package schemas

import "fmt"

// Own returns a copy of p, a pattern of another parse of the schema, with the tables,
// columns and index of s, which it finds by name. It returns a pattern of s itself as
// it is. p must not be a batch, which has no table.
func (s *Schema) Own(p *Pattern) (*Pattern, error) {
	t := s.Table(p.Table.Name)
	if t == p.Table {
		return p, nil
	}
	if t == nil {
		return nil, fmt.Errorf("schema %s has no table %s", s.Name, p.Table.Name)
	}
	own, lost := *p, ""
	find := func(c *Column) *Column {
		if c == nil {
			return nil
		}
		found := p.column(t, c.Name)
		if found == nil || found.Type.String() != c.Type.String() {
			lost = "column " + c.Name
		}
		return found
	}
	own.Table, own.In, own.Element = t, find(p.In), find(p.Element)
	for _, cs := range []*[]*Column{&own.By, &own.Filter, &own.After, &own.Columns, &own.If} {
		var found []*Column
		for _, c := range *cs {
			found = append(found, find(c))
		}
		*cs = found
	}
	for _, b := range []**Bound{&own.From, &own.To} {
		if *b != nil {
			*b = &Bound{Column: find((*b).Column), Open: (*b).Open}
		}
	}
	if p.Index != nil {
		if own.Index = t.Index(p.Index.Name); own.Index == nil {
			lost = "index " + p.Index.Name
		}
	}
	if lost != "" {
		return nil, fmt.Errorf("table %s of schema %s has no %s as pattern %s has it", t.Name, s.Name, lost, p.Name)
	}
	return &own, nil
}
