package schemas

import "strings"

// keyWords writes key columns as the language does: "name type desc".
func keyWords(cs []*Column) []string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Name + " " + c.Type.String()
		if c.Desc {
			words[i] += " desc"
		}
	}
	return words
}

// indexWords writes an index's columns as the language does: "name desc".
func indexWords(x *Index) []string {
	words := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		words[i] = c.Column.Name
		if c.Desc {
			words[i] += " desc"
		}
	}
	return words
}

// argList writes a pattern's arguments as "name type, …".
func argList(p *Pattern) string {
	var words []string
	for _, arg := range p.Args() {
		words = append(words, arg.Name+" "+arg.Type.String())
	}
	return strings.Join(words, ", ")
}

// typed writes columns as "name type, …".
func typed(cs []*Column) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Name + " " + c.Type.String()
	}
	return strings.Join(words, ", ")
}

// describe says what a column is, for messages.
func describe(c *Column) string {
	role := [...]string{"plain", "partition", "clustering", "static"}[c.Role]
	return "a " + role + " column of type " + c.Type.String()
}

// a names a kind with its article, for messages.
func a(k PatternKind) string {
	if k == Add || k == Append {
		return "an " + k.String()
	}
	return "a " + k.String()
}

// names lists columns for messages.
func names(cs []*Column) string {
	if len(cs) == 0 {
		return "nothing"
	}
	return strings.Join(Names(cs), ", ")
}

func direction(desc bool) string {
	if desc {
		return "descending"
	}
	return "ascending"
}
