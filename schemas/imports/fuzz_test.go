package imports_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
)

// FuzzImport: whatever the CQL, each statement is a pattern or is named, the schema is one that Format
// does not change, and lint can check it.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob("testdata/*-queries.cql")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("BEGIN UNLOGGED BATCH UPDATE t SET e = 1, f = f + {'a': 1} WHERE a = 1 AND b = ? AND c = ? AND d = ? IF h = 'x'; " +
		"DELETE FROM t WHERE a = 1 AND b = ? APPLY BATCH")
	ddl, err := os.ReadFile("testdata/shop.cql")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := imports.Import("", imports.Source{File: "a", Text: string(ddl)}, imports.Source{File: "b", Text: table + text})
		if err != nil {
			return // another keyspace
		}
		read, n := cql.Parse("b", table+text), len(r.Unread)+len(r.Passed)
		if all := len(read.Statements) + len(read.Unread); len(r.Read)+n < all {
			t.Errorf("%d statements, %d are patterns and %d are named", all, len(r.Read), n)
		}
		s, err := schemas.Parse("f", r.Text)
		if err != nil {
			t.Fatal(err)
		}
		if again := schemas.Format(s); string(again) != string(r.Text) {
			t.Errorf("Format changes\n%s\nto\n%s", r.Text, again)
		}
		for _, p := range s.Patterns {
			p.Accept = nil // of rules that there are not
		}
		for _, table := range s.Tables {
			table.Accept = nil
		}
		if _, err := lint.Check(s, lint.Options{}); err != nil {
			t.Error(err)
		}
	})
}
