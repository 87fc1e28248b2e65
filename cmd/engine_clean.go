package cmd

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/scratch"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/subject"
)

func newEngineClean(known registry) *cobra.Command {
	var f workloadFlags
	var from, dir string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "clean ENGINE [NAME...]",
		Short: "List or remove the leftovers of runs",
		Long: `List the leftovers of runs, or remove those that you name, with all their data.

On an engine on the network, mailbench lists the namespaces that carry its mark:
size and age of each, if the engine reports them, and its owner, if this machine
knows it.
A run drops its own namespaces when it ends. Those that are left belong to a run
that goes on, to a data folder (--data), or to a run that was killed.

On this machine (embedded), mailbench lists the folders of runs that were
killed: temporary data folders in $TMPDIR, and unfinished results in ./results
or the folder of --results. It leaves the folders of a run that goes on alone.
Unfinished results with figures in them are named, and never removed.

Nothing without mailbench's mark is touched.`,
		Example: `  mailbench engine clean embedded
  mailbench engine clean embedded --all
  mailbench engine clean cassandra
  mailbench engine clean cassandra q5k2m7v3 --contact 10.0.0.1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no engine named; see %q", cmd.CommandPath()+" --help")
			}
			if asJSON && (all || len(args) > 1) {
				return usagef("--json lists what there is; name nothing to remove")
			}
			engines, err := known.pickEngines(args[:1])
			if err != nil {
				return err
			}
			if len(engines) != 1 {
				return usagef("engine all: name one engine")
			}
			more, err := contactOverride(engines, f.contact)
			if err != nil {
				return err
			}
			w, err := f.workload(known.engines, from, more...)
			if err != nil {
				return err
			}
			if !engines[0].Remote {
				return cleanLocal(cmd, dir, args[1:], all, asJSON)
			}
			if all {
				return usagef("--all: others may be using namespaces of %s; name those to drop", args[0])
			}
			return clean(cmd, engines[0], w, args[1:], asJSON)
		},
	}
	cmd.Flags().StringVar(&from, "workload", "quick",
		"`WORKLOAD` or file that says where the engine is and how it is reached")
	f.bind(cmd.Flags())
	engineSet(cmd.Flags())
	bindJSON(cmd, &asJSON)
	cmd.Flags().StringVar(&dir, "results", resultsDir, "`DIR` to look for unfinished results in")
	cmd.Flags().BoolVar(&all, "all", false, "remove all folders of killed runs")
	return cmd
}

// clean lists the namespaces of an engine, or drops the named ones. It drops none if one of them
// does not exist.
func clean(cmd *cobra.Command, e drivers.Engine, w *workloads.Workload, names []string, asJSON bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	there, err := subject.Namespaces(ctx, e, w)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, listedNamespaces(there))
	}
	known := []string{}
	for _, n := range there {
		known = append(known, n.Name)
	}
	if len(names) == 0 {
		if len(there) == 0 {
			fmt.Fprintf(out, "nothing of mailbench is on %s\n", e.Name)
			return nil
		}
		return listNamespaces(out, there)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usage(unknown("namespace of "+e.Name, name, known))
		}
	}
	for _, name := range names {
		left, err := subject.DropNamespace(ctx, e, w, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "dropped %s\n", name)
		if left != "" {
			fmt.Fprintf(out, "left: %s\n", left)
		}
	}
	return nil
}

// listedNamespace is a namespace with what the engine and the folders of this machine tell of it.
type listedNamespace struct {
	Name   string     `json:"namespace"`
	Tables int        `json:"tables,omitempty"` // 0: the engine does not tell
	Bytes  *int64     `json:"bytes,omitempty"`  // nil: the engine does not tell
	Since  *time.Time `json:"since,omitempty"`  // nil: nobody tells
	Owner  string     `json:"owner,omitempty"`  // folder of the run; "": not known here
	State  string     `json:"state"`
}

// listedNamespaces looks only into temporary folders: nobody knows where users keep theirs (--data).
func listedNamespaces(all []drivers.Namespace) []listedNamespace {
	notes := subject.Notes(os.TempDir(), run.TemporaryPattern)
	list := []listedNamespace{}
	for _, n := range all {
		l := listedNamespace{Name: n.Name, Tables: n.Tables, State: "kept by --data, or of another machine"}
		note, here := notes[n.Name]
		if here {
			l.Owner, l.State = note.Folder, "run goes on"
			if scratch.Abandoned(note.Folder) {
				l.State = "run was killed"
			}
		}
		if n.Bytes >= 0 {
			l.Bytes = &n.Bytes
		}
		if since := latest(n.Since, note.Began).UTC(); !since.IsZero() {
			l.Since = &since
		}
		list = append(list, l)
	}
	return list
}

// listNamespaces prints namespaces as a table.
func listNamespaces(w io.Writer, all []drivers.Namespace) error {
	var rows [][]string
	for _, l := range listedNamespaces(all) {
		tables, size, age := "-", "-", "-"
		if l.Tables > 0 {
			tables = fmt.Sprint(l.Tables)
		}
		if l.Bytes != nil {
			size = words.Size(float64(*l.Bytes))
		}
		if l.Since != nil {
			age = time.Since(*l.Since).Round(time.Second).String()
		}
		rows = append(rows, []string{l.Name, tables, size, age, cmp.Or(l.Owner, "-"), l.State})
	}
	return table(w, []string{"NAMESPACE", "TABLES", "SIZE", "AGE", "OWNER", "STATE"}, rows)
}

// latest is the later of two times; zero if both are.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// resultsDir is the folder of results if the user names none.
const resultsDir = "results"

// leftovers lists what killed runs left on this machine: temporary data folders,
// and unfinished results in a folder.
func leftovers(dir string) ([]scratch.Left, error) {
	data, err := scratch.Find(os.TempDir(), run.TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("look for temporary data folders: %w", err)
	}
	unfinished, err := scratch.Find(dir, results.PartialPattern)
	if err != nil {
		return nil, fmt.Errorf("look for unfinished results: %w", err)
	}
	return append(data, unfinished...), nil
}

// tellKept names the results that killed runs had saved, and reports whether there are any.
// mailbench never removes them: they are for the user to keep or remove.
func tellKept(w io.Writer, dir string) (found bool) {
	entries, _ := os.ReadDir(dir) // leftovers has already reported an error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ok, _ := filepath.Match(results.PartialPattern, e.Name()); !ok || scratch.InUse(path) || scratch.Abandoned(path) {
			continue
		}
		if r, err := results.Open(path); err == nil {
			fmt.Fprintf(w, "%s has the results of %s: keep it or remove it by hand\n", path,
				words.Plural(len(r.Cells), "cell"))
			found = true
		}
	}
	return found
}

// cleanLocal lists the folders that killed runs left, or removes the named ones, or all.
func cleanLocal(cmd *cobra.Command, dir string, names []string, all, asJSON bool) error {
	there, err := leftovers(dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		list := []listedLeft{}
		for _, l := range there {
			list = append(list, listedLeft{l.Path, l.Bytes, l.Since.UTC().Format(time.RFC3339)})
		}
		return printJSON(out, list)
	}
	paths := make([]string, len(there))
	for i, l := range there {
		paths[i] = l.Path
	}
	switch {
	case all && len(names) > 0:
		return usagef("--all takes no folder names")
	case all:
		names = paths
	case len(names) == 0 && len(there) > 0:
		err := listLeft(out, there)
		tellKept(out, dir)
		return err
	}
	if len(there) == 0 && len(names) == 0 {
		if tellKept(out, dir) {
			return nil
		}
		_, err := fmt.Fprintf(out, "killed runs left nothing in %s and %s\n", os.TempDir(), dir)
		return err
	}
	for _, name := range names {
		if !slices.Contains(paths, name) {
			return usagef("no killed run left %s; %q lists what there is", name, cmd.CommandPath()+" "+cmd.Flags().Arg(0))
		}
	}
	for _, name := range names {
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		if err := scratch.Remove(name); err != nil {
			return err
		}
		fmt.Fprintf(out, "removed %s\n", name)
	}
	return nil
}

func listLeft(w io.Writer, there []scratch.Left) error {
	var rows [][]string
	for _, l := range there {
		rows = append(rows, []string{l.Path, words.Size(float64(l.Bytes)), time.Since(l.Since).Round(time.Second).String()})
	}
	return table(w, []string{"FOLDER", "SIZE", "AGE"}, rows)
}

// tellLeft says in one line that killed runs left something. It ignores errors, because they are
// no reason to end a run.
func tellLeft(w io.Writer) {
	there, err := leftovers(resultsDir)
	if err != nil || len(there) == 0 {
		return
	}
	var bytes int64
	for _, l := range there {
		bytes += l.Bytes
	}
	fmt.Fprintf(w, "%s of killed runs (%s): mailbench engine clean embedded --all\n",
		words.Plural(len(there), "leftover folder"), words.Size(float64(bytes)))
}
