package hbase

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
)

var update = flag.Bool("update", false, "write the golden files anew")

// pinned are the schemas of the five documents. A new model's need not be here.
var pinned = []string{"conversation", "datastax", "elasticinbox", "james", "oracle"}

// TestLayout pins where the tables of the five schemas lie.
func TestLayout(t *testing.T) {
	var got strings.Builder
	for _, name := range pinned {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLayout(prefixOf("run", name), s)
		if err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
		got.WriteString(l.String())
	}
	const golden = "testdata/layout.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("the layout differs from %s; -update writes it anew:\n%s", golden, d)
	}
}

// String writes a layout for people: HBase tables, families with the settings
// that differ from the defaults, and what rows, qualifiers and values are.
func (l *layout) String() string {
	var b strings.Builder
	for _, r := range l.roots {
		fmt.Fprintf(&b, "%s\n", r.Name)
		for _, t := range l.schema.Tables {
			tb := l.tables[t]
			if tb == nil || t.Root() != r.schema {
				continue
			}
			fmt.Fprintf(&b, "  %s: row %s", tb.family, partNames(tb.row, tb.key))
			if tb.wide {
				fmt.Fprintf(&b, ", qualifier %s", partNames(tb.rest, tb.key[len(tb.row):]))
			}
			fmt.Fprintf(&b, " →%s\n", columnNames(tb))
			for _, name := range slices.Sorted(maps.Keys(tb.descriptor)) {
				if v := tb.descriptor[name]; v != defaults[name] {
					fmt.Fprintf(&b, "    %s %s\n", name, v)
				}
			}
			if len(t.Static) > 0 {
				fmt.Fprintf(&b, "  %s: row %s → %s\n", staticFamily, partNames(tb.statics.row, tb.key), t.Static[0].Name)
			}
		}
	}
	return b.String()
}

// TestHints checks that hints set their options, and that unknown ones are refused.
func TestHints(t *testing.T) {
	const file = `
schema: 1
name: hints
tables:
  mail: {partition: [p text], clustering: [n bigint, q bigint], columns: {a: text, b: text}, hints: {hbase: {HINT}}}
  index: {partition: [p text], clustering: [k text], hints: {hbase: {INDEX}}}
`
	parse := func(hint, index string) (*layout, error) {
		s, err := schemas.Parse("hints.yaml", []byte(strings.NewReplacer("HINT", hint, "INDEX", index).Replace(file)))
		if err != nil {
			t.Fatal(err)
		}
		return newLayout("x.", s)
	}
	for hint, want := range map[string]string{
		"versions: 3": "VERSIONS 3", "ttl: 3600": "TTL 3600", "compression: gz": "COMPRESSION GZ", "bloom: rowcol": "BLOOMFILTER ROWCOL",
		"block_size: 8192": "BLOCKSIZE 8192", "in_memory: true": "IN_MEMORY true", "block_cache: false": "BLOCKCACHE false",
		"data_block_encoding: fast_diff": "DATA_BLOCK_ENCODING FAST_DIFF", "family: meta": "meta: row", "unsigned: n q": "n unsigned ‖ q unsigned",
	} {
		l, err := parse(hint, "order: reversed")
		if err != nil {
			t.Errorf("hint %s: %v", hint, err)
		} else if got := l.String(); !strings.Contains(got, want) || !strings.Contains(got, "k desc") {
			t.Errorf("hint %s gives\n%s\nexpected %s in it, and the index reversed", hint, got, want)
		}
	}
	for hint, want := range map[string]string{
		"compresion: gz": `unknown hint "compresion"`, "compression: zip": "expected one of none, gz", "marker: some": "expected none", "versions: 0": "at least 1",
		"unsigned: p": "p is no bigint key column", "unsigned: a": "a is no bigint", "order: reversed": "no cells of a wide row",
		"order: up": "expected reversed", "family: 'a:b'": "cannot name a family",
	} {
		if _, err := parse(hint, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("hint %s: %v; expected %q", hint, err, want)
		}
	}
}

// TestFamilies refuses two tables in one family.
func TestFamilies(t *testing.T) {
	const file = `
schema: 1
name: x
tables:
  a: {partition: [p text], columns: {v: text}}
  a.data: {parent: a, clustering: [k int], columns: {v: text}, hints: {hbase: {family: FAMILY}}}
  b.data: {parent: a, clustering: [k int], columns: {v: text}}
`
	for family, want := range map[string]string{
		"body": "",
		"data": "its family data is another table's, too: name one by the hint family",
		"m":    "its family m is another table's, too: name one by the hint family",
	} {
		_, err := newLayout("x.", parse(t, strings.Replace(file, "FAMILY", family, 1)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("family %s: %v; expected %q", family, err, want)
		}
	}
}
