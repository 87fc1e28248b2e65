package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
  nested: {in: readings, clustering: [seq int], columns: {v: int}}
`)
	r, err := Check(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.WriteText(&out, false, 0); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "guess:") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{
		"mail.yaml:4:39: table readings: guess: text sentDay is a bucket, by its name and type (bucket: sentDay says so, bucket: [] denies it)",
		"mail.yaml:5:24: table salted: guess: int bucket is a salt, by its name and type (salt: bucket says so, salt: [] denies it)",
		"mail.yaml:5:61: table salted: guess: int subblock is a chunk, by its name and type (chunk: subblock says so, chunk: [] denies it)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("guesses (-want +got):\n%s", diff)
	}
}
