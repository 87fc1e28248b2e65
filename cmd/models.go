package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/cmd/newmodel"
	"github.com/mailbench/mailbench/models/describe"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/words"
)

func newModels(known registry) *cobra.Command {
	var engines []string
	c := command("models [NAME|FILE.yaml]", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && len(engines) > 0:
			return usagef("--engine needs a model; expected mailbench models NAME")
		case len(args) == 0:
			var all []listedModel
			for _, m := range known.withVariants() {
				s, err := schemaOf(m)
				if err != nil {
					return err
				}
				all = append(all, listedModel{m.Name, s.Native, len(s.Tables), len(s.Patterns), cmp.Or(m.Doc, s.Doc)})
			}
			return list(cmd, all, []string{"MODEL", "TARGET ENGINE", "SCHEMA", "DESCRIPTION"}, func(m listedModel) []string {
				return []string{m.Name, m.Native, words.Plural(m.Tables, "table"), m.Doc}
			})
		}
		s, err := known.schema(args[0])
		if err != nil {
			return err
		}
		shown := known.able(canExplain) // JSON has the calls of all without -e, and the text those of none
		if len(engines) > 0 {
			if shown, err = pickEngines(engines, shown); err != nil {
				return err
			}
		}
		m, err := describe.Make(s, shown)
		if err != nil {
			return usage(err)
		}
		return show(cmd, m, func(w io.Writer, _ int) {
			_ = m.WriteText(w, args[0], len(engines) > 0, min(80, screen.Width(w)))
		})
	})
	c.ValidArgsFunction = completeSchema(known)
	bindList(c.Flags(), &engines, "engine", "e", "`ENGINES` whose requests to show, or all")
	bindJSON(c.Flags(), "print JSON; for a model with the requests of all engines, or of those that -e names")
	c.AddCommand(newModelsNew(known))
	return c
}

// listedModel is the JSON of a model or variant in a list. Fields are added, never removed.
type listedModel struct {
	Name     string `json:"name"`
	Native   string `json:"native,omitempty"` // the engine that its document was written for
	Tables   int    `json:"tables"`
	Patterns int    `json:"patterns"`
	Doc      string `json:"description"`
}

func newModelsNew(known registry) *cobra.Command {
	var dir, checkout string
	one := lacking(cobra.ExactArgs(1), "expected the name of the new model")
	c := command("new NAME", one, func(cmd *cobra.Command, args []string) error {
		name := args[0]
		err := newmodel.CheckName(name)
		switch {
		case err != nil:
			return usage(err)
		case name == "all":
			return usagef("all means every model; choose another name")
		case slices.Contains(known.modelNames(), name):
			return usagef("there is a model %s already; choose another name", name)
		}
		m := newmodel.Module{Name: name}
		if m.Version, m.Checkout, err = source(checkout); err != nil {
			return err
		}
		dir = cmp.Or(dir, name)
		files, err := newmodel.Write(dir, m)
		switch {
		case errors.Is(err, fs.ErrExist):
			return usagef("%w; nothing was written: name another folder with --dir", err)
		case err != nil:
			return missing(err)
		}
		download := ""
		if m.Checkout == "" {
			download = "  go mod tidy                                    # fetches mailbench " + m.Version + "\n"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), newModelText, dir, strings.Join(files, ", "), dir, download, m.Name)
		return err
	})
	c.Flags().StringVar(&dir, "dir", "", "write into `DIR` (default: a folder of the model's name)")
	c.Flags().StringVar(&checkout, "checkout", "", "use the source of mailbench in `DIR` (default: the current folder)")
	return c
}

// newModelText says what was written and how to go on.
const newModelText = `%s: %s
Next:
  cd %s
%s  go test -run 'TestContract$' -update-contract  # once: writes testdata/contract; review it and commit it
  go test -run 'TestContract$'
  go run . run -m james,%s
docs/own-model.md of mailbench describes the next steps.
`

// source returns the version of mailbench that a new module requires, and the checkout that replaces it: the named one,
// else the current folder. A released version needs no checkout.
func source(named string) (version, checkout string, err error) {
	if info, ok := debug.ReadBuildInfo(); ok && named == "" { // mailbench is this program, or a module that it depends on
		for _, m := range append(info.Deps, &info.Main) {
			// A program that go install fetched has a checksum; one that was built in a checkout has none.
			if m.Path == "github.com/mailbench/mailbench" && m.Replace == nil && m.Sum != "" {
				return m.Version, "", nil
			}
		}
	}
	checkout, err = filepath.Abs(named)
	mod, _ := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err == nil && !bytes.HasPrefix(mod, []byte("module github.com/mailbench/mailbench\n")) {
		err = usagef("no source of mailbench (its go.mod) in %s: name its folder with --checkout", checkout)
	}
	return "v0.0.0", checkout, err
}
