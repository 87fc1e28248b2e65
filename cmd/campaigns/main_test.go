//go:build campaigns && unix

package campaigns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mailbench/mailbench/cmd"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mailbench": func() { cmd.Main() }, "removing": removingMain})
}

// Exit statuses, as in "mailbench help status".
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitData        = 4
	exitInterrupted = 130
)

// everyModel are mailbench's own models.
var everyModel = []models.Model{elasticinbox.Model(), james.Model(), datastax.Model(), oracle.Model(), conversation.Model()}

// TestEveryModel: campaigns go over all models that mailbench has.
func TestEveryModel(t *testing.T) {
	var all, ours []string
	for _, name := range schemas.BundledVariants("") {
		if schemas.BaseOf(name) == "" {
			all = append(all, name)
		}
	}
	for _, m := range everyModel {
		ours = append(ours, m.Name)
	}
	slices.Sort(all)
	slices.Sort(ours)
	if !slices.Equal(all, ours) {
		t.Errorf("mailbench has schemas of the models %v, campaigns go over %v", all, ours)
	}
}

// mailbenchIn runs a mailbench to its end and returns what it printed.
func mailbenchIn(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, err := exec.Command("mailbench", args...).CombinedOutput()
	status := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if status != want {
		t.Fatalf("mailbench %s: status %d, want %d\n%s", strings.Join(args, " "), status, want, out)
	}
	return string(out)
}

// pickModels are the models of the names, or all.
func pickModels(names []string) (picked []models.Model, err error) {
	if slices.Equal(names, []string{"all"}) {
		return everyModel, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(everyModel, func(m models.Model) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no model %q", name)
		}
		picked = append(picked, everyModel[i])
	}
	return picked, nil
}

// fitsSchema checks run.json against the schema that mailbench publishes for it.
func fitsSchema(name string) error {
	text, err := os.ReadFile("../../workloads/results/run.schema.json")
	if err != nil {
		return err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("run.schema.json", schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile("run.schema.json")
	if err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	run, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return compiled.Validate(run)
}
