package hbase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.Guesser = (*Store)(nil)

// Guess implements drivers.Guesser. Tables with mailbench's mark are as that says. Of others HBase
// knows the families; keys, columns and types are guessed from the first rows at some places.
func (s *Store) Guess(ctx context.Context, name string) (sch *schemas.Schema, guesses []string, err error) {
	err = s.during("read the tables of "+name, func() error {
		g := guesser{ctx: ctx, slot: s.newSlot(), schema: &schemas.Schema{Name: name, Native: engineName}}
		defer g.slot.close()
		if err := g.tables(&s.admin.catalog, name); err != nil {
			return err
		}
		sch, err = schemas.Parse(name+".yaml", schemas.Format(g.schema))
		guesses = g.said
		return err
	})
	return sch, guesses, err
}

type guesser struct {
	ctx    context.Context
	slot   *slot
	schema *schemas.Schema
	said   []string
}

func (g *guesser) say(format string, args ...any) {
	g.said = append(g.said, fmt.Sprintf(format, args...))
}

// tables adds all tables of the catalog's namespace.
func (g *guesser) tables(c *catalog, name string) error {
	prefix := c.prefix(name)
	there, err := c.describe(g.ctx, prefix)
	if err != nil && !isClass(err, "NamespaceNotFoundException") {
		return err
	}
	marked := make(map[string]TableDescription)
	for _, full := range slices.Sorted(maps.Keys(there)) {
		d, own := there[full], strings.TrimPrefix(full, prefix)
		switch {
		case d.foreign() == nil && d.marks(own):
			marked[full] = d
		case d.foreign() == nil && prefix == "": // it belongs to another schema
		default:
			if err := g.table(own, d); err != nil {
				return fmt.Errorf("table %s: %w", full, err)
			}
		}
	}
	if len(marked) > 0 {
		known, err := c.read(name, prefix, marked)
		if err != nil {
			return err
		}
		g.schema.Tables = append(known.Tables, g.schema.Tables...)
		g.say("%d of the tables have mailbench's mark, which says their columns; nothing of them is guessed", len(marked))
	}
	if len(g.schema.Tables) == 0 {
		return c.absent(g.ctx, name)
	}
	return nil
}

// rowKey and the others are the names of columns that HBase has no names for.
const rowKey, qualifierKey, valueColumn = "row_key", "qualifier", "value"

// table adds a table that is not mailbench's.
func (g *guesser) table(name string, d TableDescription) error {
	rows, places, err := g.sample(d.Name)
	if err != nil {
		return err
	}
	var rowKeys [][]byte
	for _, r := range rows {
		rowKeys = append(rowKeys, r.key)
	}
	if len(rows) == 0 {
		g.say("table %s has no rows, so that only its families are known", name)
	} else {
		g.say("table %s: guessed from %d rows at %d places", name, len(rows), places)
	}
	families := familiesOf(d, rows)
	at := slices.IndexFunc(families, func(f *sampledFamily) bool { return f.named })
	hold := at < 0 && len(families) == 1 // the table itself has the cells of its family
	key := guessKey(rowKeys)
	if key.unsigned && at < 0 && !hold {
		key = guess{kind: schemas.Blob} // a table that stores nothing of its own has no hints
	}
	g.say("table %s: row keys are %s; taken for %s %s", name, shapeOf(rowKeys), rowKey, key.kind)
	root := &schemas.Table{Name: name, Partition: []*schemas.Column{{
		Name: rowKey, Type: schemas.Type{Kind: key.kind}, Role: schemas.Partition,
	}}}
	g.schema.Tables = append(g.schema.Tables, root)
	if at >= 0 {
		g.columns(root, families[at])
		families = slices.Delete(families, at, at+1)
		setHint(root, "marker", "none")
	}
	for _, f := range families {
		t := root
		if !hold {
			t = &schemas.Table{Name: name + "." + tableWord(f.name), Parent: root, Inherited: 0, Partition: root.Partition}
			g.schema.Tables = append(g.schema.Tables, t)
			root.Children = append(root.Children, t)
		}
		g.cells(t, f)
	}
	if key.unsigned {
		setHint(root, "unsigned", strings.TrimSpace(rowKey+" "+root.Hints[engineName]["unsigned"]))
	}
	for _, t := range append([]*schemas.Table{root}, root.Children...) {
		g.settings(t, d)
	}
	return nil
}

// tableWord makes a part of a table's name of a family's.
func tableWord(family string) string {
	if columnName.MatchString(family) {
		return strings.ReplaceAll(family, ".", "_")
	}
	return "family_" + regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(family, "_")
}

// columns adds the columns of a family to its table.
func (g *guesser) columns(t *schemas.Table, f *sampledFamily) {
	setHint(t, "family", f.name)
	for _, q := range slices.Sorted(maps.Keys(f.qualifiers)) {
		k := guessValue(f.qualifiers[q])
		t.Columns = append(t.Columns, &schemas.Column{Name: q, Type: schemas.Type{Kind: k.kind}})
		g.say("table %s: column %s:%s is in %d of %d rows, %s; taken for %s", t.Name, f.name, q, len(f.qualifiers[q]), f.rows,
			k.why, k.kind)
	}
}

// cells makes each cell of a family a row, with its qualifier in the key.
func (g *guesser) cells(t *schemas.Table, f *sampledFamily) {
	setHint(t, "family", f.name)
	var names, values [][]byte
	for _, q := range slices.Sorted(maps.Keys(f.qualifiers)) {
		names = append(names, []byte(q))
		values = append(values, f.qualifiers[q]...)
	}
	key, value := guessKey(names), guessValue(values)
	t.Clustering = []*schemas.Column{{Name: qualifierKey, Type: schemas.Type{Kind: key.kind}, Role: schemas.Clustering}}
	t.Columns = []*schemas.Column{{Name: valueColumn, Type: schemas.Type{Kind: value.kind}}}
	if key.unsigned {
		setHint(t, "unsigned", qualifierKey)
	}
	if f.cells == 0 {
		return
	}
	g.say("table %s: family %s has %d qualifiers in %d cells of %d rows, %s: each cell is taken for a row, with %s %s and %s %s (%s)",
		t.Name, f.name, len(f.qualifiers), f.cells, f.rows, shapeOf(names), qualifierKey, key.kind, valueColumn, value.kind,
		value.why)
}

// settings makes hints of a family's settings that are not those of mailbench's own, and carries the others.
func (g *guesser) settings(t *schemas.Table, d TableDescription) {
	if t.Header() {
		return
	}
	live := d.Families[t.Hints[engineName]["family"]]
	names := make(map[string]string)
	for hint, f := range familyHints {
		names[f.setting] = hint
	}
	if live["NEW_VERSION_BEHAVIOR"] == "" {
		live["NEW_VERSION_BEHAVIOR"] = "false"
	}
	for _, setting := range slices.Sorted(maps.Keys(live)) {
		value := live[setting]
		switch hint := names[setting]; {
		case strings.EqualFold(value, cmp.Or(defaults[setting], familyDefaults[setting])):
		case hint != "" && g.takes(hint, strings.ToLower(value)):
			setHint(t, hint, strings.ToLower(value))
		default:
			t.Other = append(t.Other, schemas.Setting{Name: setting, Text: value})
		}
	}
}

// takes reports whether a hint can have a value.
func (g *guesser) takes(hint, value string) bool {
	_, err := familyHint(value, familyHints[hint].words)
	return err == nil
}

func setHint(t *schemas.Table, name, value string) {
	if t.Hints == nil {
		t.Hints = map[string]map[string]string{engineName: {}}
	}
	t.Hints[engineName][name] = value
}
