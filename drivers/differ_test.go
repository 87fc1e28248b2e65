package drivers_test

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

func TestMissing(t *testing.T) {
	parse := func(tables string) *schemas.Schema {
		s, err := schemas.Parse("s.yaml", []byte("schema: 1\nname: s\ntables:\n"+tables))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const a = "  a: {partition: [k text], columns: {v: int, w: int, x: int, y: int}, indexes: {by_v: [v]}}\n"
	const b = "  b: {partition: [k text]}\n"
	missing, err := drivers.Missing(parse(a+b), parse(strings.Replace(a, "{by_v: [v]}", "{}", 1)))
	if err != nil || len(missing) != 2 || missing[0].Table != "b" || missing[1].Part != "by_v" {
		t.Errorf("missing: %v, %v; expected table b and index by_v", missing, err)
	}
	for have, want := range map[string]string{
		a + b:                                  "",
		a + b + "  c: {partition: [k text]}\n": "a different schema of that name is there: table c is there and should not be; use another namespace or data directory, or the schema it was made with",
		strings.ReplaceAll(a, "int", "text"): "is there: column v of table a is text; it should be int; column w of table a is text; it should be int; " +
			"column x of table a is text; it should be int; and 1 more; use another",
	} {
		_, err := drivers.Missing(parse(a+b), parse(have))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, expected %q", have, err, want)
		}
	}
}

// TestExtensions: what is missing and is an extension of the source design is no difference from that, and needs no
// statement.
func TestExtensions(t *testing.T) {
	s, err := schemas.Parse("test.yaml", []byte("schema: 1\nname: test\ntables:\n"+
		"  a: {partition: [k text], columns: {v: text, w: {type: text, addition: so}}}\n"+
		"  b: {partition: [k text], columns: {v: text}, addition: so}\n"))
	if err != nil {
		t.Fatal(err)
	}
	differences := schemas.Diff(schemas.Canonical(s), new(schemas.Schema)) // both tables are missing
	differences = append(differences, schemas.Difference{Kind: schemas.MissingColumn, Table: "a", Part: "w"})
	fix := func(schemas.Difference) []string { return []string{"ALTER", "-- by hand"} }
	for i, d := range (drivers.Shell{Comment: "--", End: ";"}).Drifts(s, differences, fix) {
		harm, statements := schemas.NotInDocument, ""
		if i == 0 { // table a
			harm, statements = schemas.CallsFail, "ALTER; -- by hand"
		}
		if got := strings.Join(d.Fix, " "); d.Harm != harm || got != statements {
			t.Errorf("%s: %s, fixed by %q; want %s, %q", d, d.Harm, got, harm, statements)
		}
	}
}
