package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
)

// TestGuesses: the report names what had to be guessed, and nothing that the schema
// says or that no rule needs.
func TestGuesses(t *testing.T) {
	s := parse(t, `schema: 1
name: mail
tables:
  readings: {partition: [sensor text, sentDay text], clustering: [at timestamp], columns: {v: int}}
  salted: {partition: [bucket int, user text], clustering: [subblock int], columns: {v: int}}
  sharded: {partition: [day text, shard int], bucket: day, salt: shard, columns: {v: int}}
  denied: {partition: [user text, month int], bucket: [], columns: {v: int}}
  other: {partition: [tenant text, user_id bigint, day_of_week int, birthday text], columns: {v: int}}
  nested: {parent: readings, clustering: [seq int], columns: {v: int}}
`)
	r, err := Check(s, Options{Facts: facts(s)})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r.WriteText(&out, false, 0)
	var got []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "guess:") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{
		"mail.yaml:4:39: table readings: guess: text sentDay is a bucket, by its name and type (bucket: sentDay confirms it, bucket: [] denies it)",
		"mail.yaml:5:24: table salted: guess: int bucket is a salt, by its name and type (salt: bucket confirms it, salt: [] denies it)",
		"mail.yaml:5:61: table salted: guess: int subblock is a chunk, by its name and type (chunk: subblock confirms it, chunk: [] denies it)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("guesses (-want +got):\n%s", diff)
	}
}

// TestGuessedByNameAndType: a name is not enough, and neither is a type; a time alone is a bucket.
func TestGuessedByNameAndType(t *testing.T) {
	for table, want := range map[string]string{
		"{partition: [a text, at timestamp]}":                        "at is a bucket",
		"{partition: [a text, day_2 int]}":                           "day_2 is a bucket",
		"{partition: [a text, day uuid]}":                            "",
		"{partition: [a text, birth_day_of int]}":                    "",
		"{partition: [a text], clustering: [day int]}":               "",
		"{partition: [shard int, a text]}":                           "shard is a salt",
		"{partition: [salt blob, a text]}":                           "salt is a salt",
		"{partition: [salt uuid, a text]}":                           "",
		"{partition: [a text], clustering: [shard int]}":             "",
		"{partition: [a text, bucket int, month int]}":               "bucket is a salt, month is a bucket",
		"{partition: [a text, bucket int]}":                          "bucket is a bucket",
		"{partition: [bucket int]}":                                  "bucket is a bucket",
		"{partition: [a text], clustering: [chunk bigint]}":          "chunk is a chunk",
		"{partition: [a text], clustering: [chunk text, part2 int]}": "part2 is a chunk",

		// Rows say what is in pieces, and not which partition ends.
		"{partition: [a text, day int], clustering: [chunk int], rows: [{each: user, sizes: {a: 9}}]}": "day is a bucket",
	} {
		s := parse(t, "schema: 1\nname: mail\ntables: {t: "+table+"}\n")
		var got []string
		for _, g := range guesses(s) {
			got = append(got, g.Column+" is a "+g.Purpose)
		}
		slices.Sort(got)
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s: guessed %q, want %q", table, all, want)
		}
	}
}

// TestChunkEndsPartition: the number of a piece in a partition key ends a partition, as a bucket does.
func TestChunkEndsPartition(t *testing.T) {
	for table, ends := range map[string]bool{
		"{partition: [a text, chunk int], clustering: [id timeuuid]}":            true,
		"{partition: [a text, nr int], chunk: nr, clustering: [id timeuuid]}":    true,
		"{partition: [a text, chunk int], chunk: [], clustering: [id timeuuid]}": false,
		"{partition: [a text, nr int], clustering: [id timeuuid]}":               false,
	} {
		r, err := Check(parse(t, "schema: 1\nname: mail\ntables: {t: "+table+"}\npatterns: {put: {put: t}}\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if unbounded := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule.ID == "unbounded-partition" }); unbounded == ends {
			t.Errorf("%s: unbounded-partition found: %v", table, unbounded)
		}
	}
}

// TestRowsWithoutClustering: a table without clustering columns has none that grows, whatever its rows say.
func TestRowsWithoutClustering(t *testing.T) {
	s, err := schemas.Parse("one.yaml", []byte(`schema: 1
name: one
description: rows of all users in one partition, by its key alone
tables:
  t: {partition: [k text], columns: {v: int}, rows: [{each: message, partition: all, sizes: {k: 1}}]}
patterns:
  write: {put: t, columns: [v]}
  read: {get: t, columns: [v]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c := growing(s.Tables[0], 0); c != nil {
		t.Errorf("column %s grows", c.Name)
	}
}
