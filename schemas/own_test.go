package schemas

import (
	"slices"
	"strings"
	"testing"
)

// TestOwn: patterns of another parse of a schema are found in it, with all that
// they refer to; a schema without one of them says so.
func TestOwn(t *testing.T) {
	for _, name := range BundledNames() {
		s, err := Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Parse(name, s.Source)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range other.Patterns {
			if p.Kind == Batch {
				continue
			}
			own, err := s.Own(p)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := s.Pattern(p.Name)
			same := own.Table == want.Table && own.In == want.In && own.Element == want.Element && own.Index == want.Index &&
				slices.Equal(own.By, want.By) && slices.Equal(own.Filter, want.Filter) && slices.Equal(own.After, want.After) &&
				slices.Equal(own.Columns, want.Columns) && slices.Equal(own.If, want.If) &&
				sameBound(own.From, want.From) && sameBound(own.To, want.To)
			if again, err := s.Own(own); !same || again != own || err != nil {
				t.Errorf("%s: pattern %s is %+v, want %+v", name, p.Name, own, want)
			}
		}
	}
}

func sameBound(a, b *Bound) bool { return a == b || a != nil && b != nil && *a == *b }

func TestOwnLacks(t *testing.T) {
	const text = `{schema: 1, name: owned, tables: {MAIL: {partition: [user text], clustering: [id int], columns: {COLUMNS}
INDEX}}, patterns: {page: {slice: MAIL, by: user, VIA filter: size}}}`
	parse := func(words ...string) *Schema {
		s, err := Parse("owned.yaml", []byte(strings.NewReplacer(words...).Replace(text)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	p := parse("MAIL", "mail", "COLUMNS", "size: bigint", "INDEX", ", indexes: {by_id: [user, id]}", "VIA", "index: by_id,").Pattern("page")
	for want, s := range map[string]*Schema{
		"has no table mail":   parse("MAIL", "post", "COLUMNS", "size: bigint", "INDEX", "", "VIA", ""),
		"has no column size":  parse("MAIL", "mail", "COLUMNS", "size: text", "INDEX", ", indexes: {by_id: [user, id]}", "VIA", ""),
		"has no index by_id ": parse("MAIL", "mail", "COLUMNS", "size: bigint", "INDEX", "", "VIA", ""),
	} {
		if _, err := s.Own(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
