package cmd

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/schemas"
)

func TestRegistry(t *testing.T) {
	var names []string
	for _, m := range bundled().models {
		if names = append(names, m.Name); m.Doc == "" {
			t.Errorf("model %s has no line of its own", m.Name)
		}
	}
	if got, want := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(schemas.BundledVariants(""))); !slices.Equal(got, want) {
		t.Errorf("models %v, bundled schemas %v", got, want)
	}
	if len(bundled().engines) == 0 {
		t.Error("no engines")
	}
	for _, e := range bundled().engines {
		if e.Doc == "" {
			t.Errorf("engine %s has no line of its own", e.Name)
		}
	}
}

func TestPick(t *testing.T) {
	var all []string
	for _, m := range bundled().models {
		all = append(all, m.Name)
	}
	for _, tc := range []struct {
		names []string
		want  []string
		err   string
	}{
		{[]string{"oracle", "james"}, []string{"oracle", "james"}, ""},
		{[]string{"all"}, all, ""},
		{[]string{"jams"}, nil, `unknown model "jams"; did you mean "james"?`},
		{[]string{"oracle", "oracle"}, nil, "model oracle is named twice"},
		{[]string{"oracle", "all"}, nil, "model all must be the only one named"},
	} {
		picked, err := bundled().pickModels(tc.names)
		var got []string
		for _, m := range picked {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, tc.want) || err == nil != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("-m %v: %v, error %v; want %v, error %q", tc.names, got, err, tc.want, tc.err)
		}
		if err != nil && exitStatus(err) != exitUsage {
			t.Errorf("-m %v: status %d", tc.names, exitStatus(err))
		}
	}
}

// TestUnknownEngine: a model whose schema names no engine that there is cannot be picked.
func TestUnknownEngine(t *testing.T) {
	mine := james.Model()
	mine.Schema = func() (*schemas.Schema, error) {
		return schemas.Parse("mine.yaml", []byte("schema: 1\nname: mine\nnative: hbaze\ntables: {t: {partition: [id int]}}\n"))
	}
	mine.Name = "mine"
	want := `schema of model mine: mine.yaml:3:9: unknown engine "hbaze"; did you mean "hbase"?`
	if _, err := bundled(mine).pickModels([]string{"mine"}); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// TestOwnModel runs a model that the program of somebody else adds.
func TestOwnModel(t *testing.T) {
	mine := james.Model()
	mine.Name, mine.Doc = "mine", "a model of somebody else's"
	var out, errs bytes.Buffer
	args := append([]string{"run", "--fail-on=failed", "-m", "mine", "-o", filepath.Join(t.TempDir(), "out")}, small...)
	if status := execute(bundled(mine), args, &out, &errs); status != exitOK || !strings.Contains(out.String(), "mine") {
		t.Errorf("run: status %d\n%s%s", status, out.String(), errs.String())
	}
	if execute(bundled(mine), []string{"models"}, &out, &errs); !strings.Contains(out.String(), mine.Doc) {
		t.Errorf("the list of models lacks it:\n%s", out.String())
	}
}

// A model that a program gives takes the place of the bundled one of its name.
func TestGivenModelReplaces(t *testing.T) {
	mine := bundled().models[1]
	mine.Doc = "mine"
	if got := bundled(mine).models; len(got) != len(bundled().models) || got[1].Doc != "mine" {
		t.Errorf("%d models, %s is %q", len(got), got[1].Name, got[1].Doc)
	}
}
