package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
)

// notes are what the comments above a statement say.
type notes struct {
	name, doc string
	accept    []schemas.Acceptance
	purposes  map[schemas.Purpose][]string
	rows      []string // YAML, as in the list rows of a table
	many      bool     // "batch: many": a batch has as many of its statements as a list has elements
}

var (
	acceptNote = regexp.MustCompile(`^accept (?:([a-z-]+): *(.*)|[a-z]+(?:-[a-z]+)+|queue)$`)
	nameNote   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*):(?: +(.*))?$`)
	sqlcNote   = regexp.MustCompile(`^name: *([A-Za-z][A-Za-z0-9_.-]*)\b *(:\w+)? *$`) // as sqlc names queries
)

// readNotes reads the comments above a statement, or above a table: those say more.
func (im *importer) readNotes(pos lexer.Position, comments []string, table bool) (n notes) {
	var doc []string
	n.purposes = make(map[schemas.Purpose][]string)
	for _, c := range comments {
		accept, sqlc := acceptNote.FindStringSubmatch(c), sqlcNote.FindStringSubmatch(c)
		named := nameNote.FindStringSubmatch(c)
		switch {
		case accept != nil && accept[2] == "":
			im.unread(pos, "-- "+c, "it has no reason; expected -- accept RULE: REASON")
		case accept != nil:
			n.accept = append(n.accept, schemas.Acceptance{Rule: accept[1], Reason: accept[2]})
		case c == "batch: many":
			n.many = true
		case sqlc != nil && n.name == "":
			n.name = sqlc[1]
		case table && named != nil && slices.Contains(schemas.Purposes, schemas.Purpose(named[1])): // [] says that none is
			columns := strings.NewReplacer("[", "", "]", "", ",", " ").Replace(named[2])
			n.purposes[schemas.Purpose(named[1])] = strings.Fields(columns)
		case table && named != nil && named[1] == "rows":
			n.rows = append(n.rows, named[2])
		case named != nil && n.name == "" && len(doc) == 0:
			if n.name = named[1]; named[2] != "" {
				doc = append(doc, named[2])
			}
		case c != "":
			doc = append(doc, c)
		}
	}
	if len(n.name) > maxName-4 { // the doc keeps all of it
		doc = append([]string{n.name + ":"}, doc...)
		n.name = strings.TrimRight(n.name[:maxName-4], "_.-")
	}
	n.doc = strings.Join(doc, " ")
	return n
}

// nameOf makes a name for a pattern that has none.
func nameOf(p *schemas.Pattern) string {
	if p.Kind == schemas.Batch {
		words := []string{"batch"}
		for _, part := range p.Parts {
			words = append(words, part.Pattern.Table.Name)
		}
		return strings.Join(words, "_")
	}
	words := []string{p.Table.Name}
	switch p.Kind {
	case schemas.Scan:
		words = []string{"all", p.Table.Name}
		words = append(words, schemas.Names(p.Filter)...)
	case schemas.Get, schemas.Slice:
		words = append(words, "by")
		words = append(words, schemas.Names(p.By)...)
		if p.In != nil {
			words = append(words, p.In.Name)
		}
		words = append(words, schemas.Names(p.Filter)...)
	case schemas.Put:
		words = []string{"put", p.Table.Name}
		if len(p.Columns) < len(p.Table.Columns) && len(p.Columns) <= 2 {
			words = append(words, schemas.Names(p.Columns)...)
		}
	case schemas.PutIf:
		words = []string{"change", p.Table.Name}
		if p.Absent {
			words[0] = "create"
		}
	default:
		words = []string{verbs.Replace(p.Kind.String()), p.Table.Name}
		if p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
			words = append(append(words, "by"), schemas.Names(p.By)...)
		}
	}
	return strings.Join(words, "_")
}

// verbs are kinds of patterns as names of patterns have them.
var verbs = strings.NewReplacer("increment", "add", "remove-element", "remove")

// free returns the name, or one like it that no pattern has.
func (im *importer) free(name string) string {
	name = strings.TrimRight(name[:min(len(name), maxName-4)], "_.-")
	tried := name
	for _, taken := im.named[tried]; taken; _, taken = im.named[tried] {
		im.numbers[name]++
		tried = fmt.Sprintf("%s_%d", name, im.numbers[name]+1)
	}
	return tried
}
