package oraclenosql

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements drivers.Comparer.
func (s *Store) Compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	defer s.leave()
	c, err := s.compare(ctx, sch)
	if err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	return c, nil
}

func (s *Store) compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	l, err := newLayout(sch, s.place(sch.Name))
	if err != nil {
		return nil, err
	}
	n, err := s.readNamespace(ctx, l.namespace)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fmt.Errorf("there is no namespace %s with tables", l.namespace)
	}
	own, err := stored(sch)
	if err != nil {
		return nil, err
	}
	n.markAs(l, sch.Name)
	c := &drivers.Comparison{
		Where:  "namespace " + l.namespace,
		Drifts: drivers.Drifts(schemas.Diff(own, n.schema(sch.Name))),
		Unseen: []string{"Oracle does not say in which order columns were meant to descend: that is in the tables' comments."},
	}
	for i := range c.Drifts {
		c.Drifts[i].Mend = l.mend(c.Drifts[i].Difference)
	}
	return c, nil
}

// mend returns the statements that would mend a difference.
func (l *layoutOf) mend(d schemas.Difference) []string {
	at := slices.IndexFunc(l.all, func(t *table) bool { return t.of.Name == d.Table && !t.isStatic() })
	if at < 0 {
		if d.Kind == schemas.ExtraTable {
			return []string{"# DROP TABLE removes its rows too"}
		}
		return nil
	}
	t := l.all[at]
	switch d.Kind {
	case schemas.MissingTable:
		var all []string
		for _, one := range l.all {
			if one.of == t.of {
				all = append(all, one.create(l.namespace, "")+";")
			}
		}
		return all
	case schemas.MissingIndex:
		for _, x := range t.kept() {
			if x.Name == d.Part {
				return []string{t.createIndex(x) + ";"}
			}
		}
	case schemas.ExtraIndex:
		return []string{fmt.Sprintf("DROP INDEX %s ON %s;", identifier(d.Part), t.full)}
	case schemas.MissingColumn:
		for _, c := range t.columns {
			if c.Name == d.Part {
				typ, _ := columnType(c)
				return []string{fmt.Sprintf("ALTER TABLE %s (ADD %s %s);", t.full, identifier(c.Name), typ)}
			}
		}
	case schemas.ExtraColumn:
		return []string{fmt.Sprintf("# ALTER TABLE %s (DROP %s); removes its values", t.full, identifier(d.Part))}
	}
	return []string{"# no statement changes this: the table must be made anew, and its rows copied"}
}
