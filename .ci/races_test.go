package main_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
)

var update = flag.Bool("update", false, "write the sections of docs/models.md that are made from schemas")

// TestRacesTable: the table of what two clients do to one message adds up the golden files of the contract.
func TestRacesTable(t *testing.T) {
	const document, begin, end = "docs/internals/reliability.md", "<!-- races -->\n", "<!-- races end -->"
	kinds := []string{
		"lost", "revived", "duplicated", "flag lost", "both acknowledged", "failed", "broken reference", "counter drift",
	}
	want := "| model | engines | interleavings | " + strings.Join(kinds, " | ") + " |\n" +
		strings.Repeat("|---", 3+len(kinds)) + "|\n"
	interleavings := regexp.MustCompile(`: (\d+) interleavings`)
	for _, model := range []string{"elasticinbox", "james", "datastax", "oracle", "conversation"} {
		golden, err := os.ReadFile("models/" + model + "/testdata/contract/races.golden")
		if err != nil {
			t.Fatal(err)
		}
		engines, before := "", "" // of a row, and its counts
		row := func() {
			if engines != "" {
				want += "| " + model + " | " + engines + " |" + before + "\n"
			}
		}
		for _, part := range regexp.MustCompile(`(?m)^\w+\n(\t.*\n)+`).FindAllString(string(golden), -1) {
			engine, lines, _ := strings.Cut(part, "\n")
			counts := fmt.Sprintf(" %d |", sum(interleavings, lines))
			for _, kind := range kinds {
				counts += fmt.Sprintf(" %d |", sum(regexp.MustCompile(`[:,] `+kind+` (\d+)`), lines))
			}
			if counts == before {
				engines += ", " + engine
				continue
			}
			row()
			engines, before = engine, counts
		}
		row()
		if regexp.MustCompile(`both refused|broken body|orphaned`).Match(golden) {
			t.Errorf("%s has an anomaly that the table lacks", model)
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), begin)
	if table, _, _ = strings.Cut(table, end); table != want {
		t.Errorf("%s has between %q and %q\n%s\nwant\n%s", document, begin, end, table, want)
	}
}

// sum adds up the numbers that a pattern finds.
func sum(pattern *regexp.Regexp, text string) (n int) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		one, _ := strconv.Atoi(found[1])
		n += one
	}
	return n
}

// TestVersionsOfFindings: docs/findings.md names the versions of the engines that "make findings" measures.
func TestVersionsOfFindings(t *testing.T) {
	text, err := os.ReadFile("docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	intro := strings.Join(strings.Fields(string(text)), " ")
	for name, of := range map[string][2]string{
		"Pebble": {"go.mod", `pebble/v2 v(\S+)`}, "Cassandra": {"drivers/launch/cassandra.go", `version: "(\d[\d.]*)"`},
		"HBase": {"drivers/launch/hbase.go", `version: "(\d[\d.]*)"`},
	} {
		code, err := os.ReadFile(of[0])
		version := regexp.MustCompile(of[1]).FindSubmatch(code)
		if err != nil || version == nil {
			t.Fatalf("%s: no version: %v", of[0], err)
		}
		if want := name + " " + string(version[1]); !strings.Contains(intro, want) {
			t.Errorf("docs/findings.md does not name %s", want)
		}
	}
}

// TestDecisionTables: README.md and docs/models.md choose a model, in a table and in prose, by numbers of docs/findings.md.
func TestDecisionTables(t *testing.T) {
	number := regexp.MustCompile(`\d[\d,]*(\.\d+)*`) // 25.3.21 is one, and not also 25.3
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if v := regexp.MustCompile(`Version = "([\d.]+)-dev"`).FindStringSubmatch(read("workloads/run/provenance.go")); v == nil ||
		!strings.Contains(read("CHANGELOG.md"), v[1]+" will be the first release") {
		t.Errorf("CHANGELOG.md does not call %v the first release", v)
	}
	measured := map[string]bool{}
	for _, n := range number.FindAllString(strings.ReplaceAll(read("docs/findings.md"), "100k", "100000"), -1) {
		measured[strings.Trim(strings.ReplaceAll(n, ",", ""), ".")] = true
	}
	for _, name := range []string{"README.md", "docs/models.md"} {
		_, table, _ := strings.Cut(read(name), "\n| your mail |")
		table, _, _ = strings.Cut(table, "\n\n")
		rows := strings.Split(table, "\n")[2:]
		for i, row := range rows {
			rows[i] = strings.Split(row, "|")[3]
		}
		rows = append(rows, regexp.MustCompile(`(?s)\*\*Best for\*\*.*?\n\n`).FindAllString(read(name), -1)...)
		for _, row := range rows {
			for _, n := range number.FindAllString(row, -1) {
				if !measured[strings.ReplaceAll(n, ",", "")] {
					t.Errorf("%s: docs/findings.md has no %s: %s", name, n, row)
				}
			}
		}
		if len(rows) < 5 {
			t.Errorf("%s has a table of %d rows", name, len(rows))
		}
	}
}

// TestModelSections: docs/models.md has the diagram, tables, extensions and variants of each bundled schema, and its
// link to the source design.
func TestModelSections(t *testing.T) {
	const document = "docs/models.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, name := range []string{"elasticinbox", "james", "datastax", "oracle", "conversation"} {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		want.WriteString("```mermaid\n")
		if err := diagram.Mermaid(&want, s, diagram.Logical); err != nil {
			t.Fatal(err)
		}
		want.WriteString("```\n\n| table | content |\n|---|---|\n")
		var extensions []string
		extension := func(what, why string) {
			if why != "" {
				extensions = append(extensions, "`"+what+"`")
			}
		}
		for _, table := range s.Tables {
			fmt.Fprintf(&want, "| `%s` | %s |\n", table.Name, words.Markdown(cmp.Or(table.Doc, table.Addition)))
			extension(table.Name, table.Addition)
			for _, c := range append(table.Static, table.Columns...) {
				extension(table.Name+"."+c.Name, c.Addition)
			}
			for _, x := range table.Indexes {
				extension("index "+x.Name, x.Addition)
			}
		}
		for _, p := range s.Patterns {
			extension("pattern "+p.Name, p.Addition)
		}
		want.WriteString("\n" + strings.Join(words.Wrap("Extensions: ", strings.Join(extensions, ", ")+".", 0, 140), "\n") +
			"\n\n| variant | difference |\n|---|---|\n")
		for _, variant := range schemas.BundledVariants(name) {
			v, err := schemas.Bundled(variant)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&want, "| `%s` | %s |\n", variant, words.Markdown(v.Doc))
		}
		begin := "<!-- model " + name + " -->\n"
		before, rest, _ := strings.Cut(page, begin)
		section, after, found := strings.Cut(rest, "<!-- end -->")
		if heading := before[max(strings.LastIndex(before, "\n## "), 0):]; !found ||
			!regexp.MustCompile(`(?s)^\n## `+name+`\n.*\]\(https://\S+\).*\*\*Best for\*\*.*\d.*\*\*Avoid for\*\*.*\d`).MatchString(heading) {
			t.Errorf("%s: the section of %s has no source with a link, best for and avoid for with numbers, or %s", document, name, begin)
		}
		if *update {
			page = before + begin + want.String() + "<!-- end -->" + after
		} else if section != want.String() {
			t.Errorf("%s has after %s\n%s\nwant (go test -run TestModelSections ./.ci -update)\n%s", document, begin, section, want.String())
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(document, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
