package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/scratch"
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
in progress, to a data folder (--data), or to a run that was killed.

On this machine (embedded), mailbench lists the folders of runs that were
killed: temporary data folders in $TMPDIR, and unfinished results in ./results
or the folder of --results. Folders of a run in progress are not listed.
Unfinished results with measured values are listed, and never removed.

Nothing without mailbench's mark is touched.`,
		Example: `  mailbench engine clean embedded
  mailbench engine clean embedded --all
  mailbench engine clean cassandra
  mailbench engine clean cassandra q5k2m7v3 --contact 10.0.0.1`,
		Args: cobra.ArbitraryArgs, ValidArgs: known.engineNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no engine named; see %q", cmd.CommandPath()+" --help")
			}
			if asJSON && (all || len(args) > 1) {
				return usagef("--json only lists; leave the names out")
			}
			if args[0] == "all" {
				return usagef("expected one engine, found all")
			}
			e, err := pickOne(args[0], known.engines)
			if err != nil {
				return err
			}
			w, err := f.reach(known, e, from)
			if err != nil {
				return err
			}
			there := func() (*cleaning, error) { return foldersLeft(dir, cmd.CommandPath()+" "+args[0]) }
			if e.Remote {
				if all {
					return usagef("--all: namespaces of %s may be in use by others; name those to drop", e.Name)
				}
				there = func() (*cleaning, error) { return namespacesLeft(cmd.Context(), e, w) }
			}
			if all && len(args) > 1 {
				return usagef("--all removes all folders of killed runs; leave the names out")
			}
			c, err := there()
			if err != nil {
				return err
			}
			return c.run(cmd, args[1:], all, asJSON)
		},
	}
	cmd.Flags().StringVar(&from, "workload", results.DefaultWorkload,
		"`WORKLOAD` or file with the address and settings of the engine")
	f.bind(cmd.Flags())
	engineSet(cmd.Flags())
	bindJSON(cmd, &asJSON)
	cmd.Flags().StringVar(&dir, "results", resultsDir, "`DIR` to look for unfinished results in")
	cmd.Flags().BoolVar(&all, "all", false, "remove all folders of killed runs")
	return cmd
}

// cleaning is what runs left in one place, and how one of it is removed.
type cleaning struct {
	names []string
	all   any // for JSON
	head  []string
	rows  [][]string
	// rest prints what is left and never removed, or if there is nothing at all that.
	rest    func(w io.Writer) error
	unknown func(name string) error
	remove  func(name string) (done string, err error)
}

// run lists what is left, or removes what is named, or all. It removes nothing if one of the names is unknown.
func (c *cleaning) run(cmd *cobra.Command, names []string, all, asJSON bool) error {
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		return printJSON(out, c.all)
	case all:
		names = c.names
	case len(names) == 0 && len(c.names) > 0:
		return cmp.Or(table(out, c.head, c.rows), c.rest(out))
	}
	if len(names) == 0 {
		return c.rest(out)
	}
	for _, name := range names {
		if !slices.Contains(c.names, name) {
			return c.unknown(name)
		}
	}
	for _, name := range names {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		done, err := c.remove(name)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, done)
	}
	return nil
}

// namespacesLeft are the namespaces of mailbench on an engine.
func namespacesLeft(ctx context.Context, e drivers.Engine, w *workloads.Workload) (*cleaning, error) {
	there, err := subject.Namespaces(ctx, e, w)
	if err != nil {
		return nil, err
	}
	all := listedNamespaces(there)
	c := &cleaning{
		all: all, head: []string{"NAMESPACE", "TABLES", "SIZE", "AGE", "OWNER", "STATE"},
		rows: rowsOf(all, listedNamespace.row), names: []string{},
		rest: func(io.Writer) error { return nil },
		remove: func(name string) (string, error) {
			left, err := subject.DropNamespace(ctx, e, w, name)
			if left != "" {
				left = "\nleft: " + left
			}
			return "dropped " + name + left, err
		},
	}
	for _, n := range all {
		c.names = append(c.names, n.Name)
	}
	c.unknown = func(name string) error { return usage(unknown("namespace of "+e.Name, name, c.names)) }
	if len(all) == 0 {
		c.rest = func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "nothing of mailbench is on %s\n", e.Name)
			return err
		}
	}
	return c, nil
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

// row is a namespace in a table.
func (l listedNamespace) row() []string {
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
	return []string{l.Name, tables, size, age, cmp.Or(l.Owner, "-"), l.State}
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

// listedLeft is the JSON of a folder that a killed run left. Fields are added, never removed.
type listedLeft struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Since string `json:"since"` // RFC 3339, UTC
}

// foldersLeft are the folders that killed runs left on this machine. Command lists them.
func foldersLeft(dir, command string) (*cleaning, error) {
	there, err := leftovers(dir)
	if err != nil {
		return nil, err
	}
	c := &cleaning{
		head: []string{"FOLDER", "SIZE", "AGE"},
		rest: func(w io.Writer) (err error) {
			if !tellKept(w, dir) && len(there) == 0 {
				_, err = fmt.Fprintf(w, "no folders of killed runs in %s and %s\n", os.TempDir(), dir)
			}
			return err
		},
		unknown: func(name string) error {
			return usagef("%s is not left by a killed run; %q lists all", name, command)
		},
		remove: func(name string) (string, error) { return "removed " + name, scratch.Remove(name) },
	}
	list := []listedLeft{}
	for _, l := range there {
		list = append(list, listedLeft{l.Path, l.Bytes, l.Since.UTC().Format(time.RFC3339)})
		c.names = append(c.names, l.Path)
		age := time.Since(l.Since).Round(time.Second).String()
		c.rows = append(c.rows, []string{l.Path, words.Size(float64(l.Bytes)), age})
	}
	c.all = list
	return c, nil
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
