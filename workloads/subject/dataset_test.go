package subject

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas"
)

func TestDatasetFits(t *testing.T) {
	loaded := Dataset{
		Model: "james", Workload: "quick", Mail: "a", Schema: "b", Seed: 1, Complete: true, Messages: 10,
	}
	for _, c := range []struct {
		name   string
		change func(have, want *Dataset)
		differ string
	}{
		{"same", func(_, _ *Dataset) {}, ""},
		{"another rate or name", func(_, want *Dataset) { want.Workload = "quick2" }, ""},
		{"mail", func(_, want *Dataset) { want.Mail = "x" }, "the workload's mail or population (it was loaded by \"quick\")"},
		{"schema", func(_, want *Dataset) { want.Schema = "x" }, "schema of james"},
		{"chunk size", func(_, want *Dataset) { want.Parameters = map[string]int{"chunk_size": 4096} }, "the parameters of james"},
		{"seed", func(_, want *Dataset) { want.Seed = 2 }, "seed (it was 1, now 2)"},
		{"interrupted", func(have, _ *Dataset) { have.Complete = false }, ""},
		{"interrupted in an earlier build", func(have, _ *Dataset) {
			have.Complete, have.Messages, have.Records, have.Steps = false, 0, 9, make([]struct{}, 1)
		}, ""},
		{"grown in an earlier build", func(have, _ *Dataset) { have.Steps = make([]struct{}, 2) }, "delivered it in 2 steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := private.Make(dir); err != nil {
				t.Fatal(err)
			}
			have, want := loaded, loaded
			c.change(&have, &want)
			if err := have.write(dir); err != nil {
				t.Fatal(err)
			}
			read, err := ReadDataset(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = read.fits(&want, dir)
			if c.differ == "" && err != nil || c.differ != "" && (err == nil || !strings.Contains(err.Error(), c.differ)) {
				t.Errorf("err = %v, want %q", err, c.differ)
			}
		})
	}
	if d, err := ReadDataset(filepath.Join(t.TempDir(), "none")); d != nil || err != nil {
		t.Errorf("of no folder: %v, %v", d, err)
	}
}

// TestSchemaDigest: a data set fits another text of the same tables, and no others.
func TestSchemaDigest(t *testing.T) {
	s, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	reparsed := func(from, to string) *schemas.Schema {
		if !bytes.Contains(s.Source, []byte(from)) {
			t.Fatalf("schemas/james.yaml does not say %q", from)
		}
		other, err := schemas.Parse("james", bytes.ReplaceAll(s.Source, []byte(from), []byte(to)))
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	want := schemaDigest(s)
	if got := schemaDigest(reparsed("\ntables:", "\n# a comment\ntables:")); got != want {
		t.Errorf("with a comment: %s, want %s", got, want)
	}
	if got := schemaDigest(reparsed("size: {type: bigint,", "size: {type: int,")); got == want {
		t.Error("the type of a column is not part of the digest")
	}
}
