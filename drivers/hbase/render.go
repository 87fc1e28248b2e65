package hbase

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// renderShell writes the commands of the HBase shell that Apply runs.
func renderShell(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := newSettings(o)
	if err != nil {
		return "", err
	}
	l, err := newLayout(prefixOf(o.Namespace, s.Name), s)
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", s.Name, err)
	}
	p := &place{layout: l, namespace: o.Namespace, regions: set.preSplit, users: o.Users}
	t := render.New("#")
	t.Head(s,
		fmt.Sprintf("The commands of the HBase shell that create the tables of the schema %s as mailbench does. A table's "+
			"METADATA are mailbench's mark, with the columns and types that HBase does not store.", s.Name))
	for _, r := range l.roots {
		for _, of := range l.schema.Tables {
			if of.Root() == r.schema {
				t.Table(of)
				l.comments(t, of)
			}
		}
		t.Statement(p.create(r))
	}
	return t.String(), nil
}

// comments writes where the rows of a table are stored, and which indexes HBase does not keep.
func (l *layout) comments(t *render.Text, of *schemas.Table) {
	tb := l.tables[of]
	if tb == nil {
		t.Comment("It stores nothing of its own. The tables nested in it are families of the HBase table.")
		return
	}
	where := fmt.Sprintf("Family %s: row key %s", tb.family, partNames(tb.row, tb.key))
	if tb.wide() {
		where += ", a cell for each row, with the qualifier " + partNames(tb.rest, tb.key[len(tb.row):])
	}
	t.Comment(where + " →" + columnNames(tb) + ".")
	if !tb.wide() && !tb.noMarker {
		t.Comment("Extension, not in the source design: a cell of each row with the qualifier 00 and the value 01. " +
			"It makes the row exist, whatever its columns hold.")
	}
	if len(of.Static) > 0 {
		t.Comment(fmt.Sprintf("Family %s: row key %s → the static columns.", staticFamily, partNames(tb.static, tb.key)))
	}
	for _, x := range of.Indexes {
		t.Comment(fmt.Sprintf("Index %s is left out: HBase has no indexes.", x.Name))
	}
}

// partNames writes the columns of a row key or qualifier. "raw" marks bytes without a
// terminator.
func partNames(ps keys.Columns, cs []*schemas.Column) string {
	var words []string
	if len(ps) > 0 && ps[0].Salt > 0 {
		words = append(words, fmt.Sprintf("bucket of %d", ps[0].Salt))
	}
	for i, p := range ps {
		word := cs[i].Name
		switch {
		case p.Raw:
			word += " raw"
		case p.Unsigned:
			word += " unsigned"
		}
		if p.Desc {
			word += " desc"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ‖ ")
}

func columnNames(t *table) string {
	var b strings.Builder
	for at, c := range t.columns {
		fmt.Fprintf(&b, " %s", c.Name)
		if slices.Contains(t.added, at) {
			b.WriteString(" (counted up)")
		}
	}
	if len(t.columns) == 0 {
		return " nothing"
	}
	return b.String()
}

// create returns the command that creates a table. The shell takes every setting as text, as
// its own command describe writes them, and split keys as Bytes.toBytesBinary reads them.
func (p *place) create(r *root) string {
	d, splits := p.descriptor(r), p.splits(r)
	var b strings.Builder
	fmt.Fprintf(&b, "create %s", ruby(d.Name))
	for _, family := range slices.Sorted(maps.Keys(d.Families)) {
		fmt.Fprintf(&b, ",\n  %s", familyHash(family, d.Families[family]))
	}
	fmt.Fprintf(&b, ",\n  {METADATA => %s}", metadata(d))
	if len(splits) > 0 {
		var keys []string
		for _, k := range splits {
			text := ""
			for _, b := range k {
				text += fmt.Sprintf("\\x%02X", b)
			}
			keys = append(keys, ruby(text))
		}
		fmt.Fprintf(&b, ",\n  {SPLITS => [%s]}", strings.Join(keys, ", "))
	}
	return b.String()
}

// metadata writes a table's attributes as the shell's create and alter take them.
func metadata(d TableDescription) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		words = append(words, fmt.Sprintf("\n    %s => %s", ruby(name), ruby(d.Attributes[name])))
	}
	return "{" + strings.Join(words, ",") + "}"
}

// familyHash writes a family as the shell's create and alter take it.
func familyHash(name string, settings familySettings) string {
	words := []string{"NAME => " + ruby(name)}
	for _, s := range slices.Sorted(maps.Keys(settings)) {
		words = append(words, familyWord(s, settings[s]))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// familyWord writes a setting of a family.
func familyWord(setting, value string) string {
	if isConfiguration(setting) {
		return "CONFIGURATION => {" + ruby(setting) + " => " + ruby(value) + "}"
	}
	return setting + " => " + ruby(value)
}

// ruby writes a text as a Ruby string in single quotes: only quotes and backslashes are
// escaped, and line breaks stay.
func ruby(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
