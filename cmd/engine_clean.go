package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/scratch"
	"github.com/mailbench/mailbench/workloads/subject"
)

func newEngineClean(known registry) *cobra.Command {
	var f workloadFlags
	var dir string
	var all bool
	cmd := &cobra.Command{
		Use:   "clean ENGINE [NAME...]",
		Short: "List or remove the leftovers of runs",
		Args:  lacking(cobra.MinimumNArgs(1), "no engine named"), ValidArgs: known.engineNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case asJSON(cmd) && (all || len(args) > 1):
				return usagef("--json only lists; leave the names out")
			case args[0] == "all":
				return usagef("expected one engine, found all")
			}
			e, err := pickOne(args[0], known.engines)
			if err != nil {
				return err
			}
			w, err := f.reach(known, e)
			if err != nil {
				return err
			}
			switch {
			case all && e.Remote:
				return usagef("--all: namespaces of %s may be in use by others; name those to drop", e.Name)
			case all && len(args) > 1:
				return usagef("--all removes all folders of killed runs; leave the names out")
			}
			var c *cleaning
			if e.Remote {
				c, err = namespacesLeft(cmd.Context(), e, w)
			} else {
				c, err = foldersLeft(dir, cmd.CommandPath()+" "+args[0])
			}
			if err != nil {
				return err
			}
			return c.run(cmd, args[1:], all)
		},
	}
	f.bindEngine(cmd.Flags())
	bindJSON(cmd.Flags(), "print JSON")
	cmd.Flags().StringVar(&dir, "results", resultsDir, "`DIR` to look for unfinished results in")
	cmd.Flags().BoolVar(&all, "all", false, "remove all folders of killed runs")
	return cmd
}

// cleaning is what runs left in one place.
type cleaning struct {
	json   any // list of what is left
	head   []string
	rows   [][]string // that begin with a name
	rest   string     // printed after the list: what is never removed, or that there is nothing
	remove func(name string) (done string, err error)
	// unknown is the error for a name that is none of names.
	unknown func(name string) error
}

// run lists what is left, or removes what is named, or all. It removes nothing if one of the names is unknown.
func (c *cleaning) run(cmd *cobra.Command, names []string, all bool) error {
	if all {
		names = c.names()
	}
	if len(names) == 0 {
		return show(cmd, c.json, func(w io.Writer, _ int) {
			if len(c.rows) > 0 && !all {
				table(w, c.head, c.rows)
			}
			fmt.Fprint(w, c.rest)
		})
	}
	for _, name := range names {
		if !slices.Contains(c.names(), name) {
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
		fmt.Fprintln(cmd.OutOrStdout(), done)
	}
	return nil
}

func (c *cleaning) names() (all []string) {
	for _, row := range c.rows {
		all = append(all, row[0])
	}
	return all
}

// namespacesLeft are the namespaces of mailbench on an engine.
func namespacesLeft(ctx context.Context, e drivers.Engine, w *workloads.Workload) (*cleaning, error) {
	there, err := subject.Namespaces(ctx, e, w)
	if err != nil {
		return nil, err
	}
	c := &cleaning{
		json: append([]subject.Namespace{}, there...), // an empty list is no null
		head: []string{"NAMESPACE", "TABLES", "SIZE", "AGE", "OWNER", "STATE"},
		remove: func(name string) (string, error) {
			left, err := subject.DropNamespace(ctx, e, w, name)
			if left != "" {
				left = "\nleft: " + left
			}
			return "dropped " + name + left, err
		},
	}
	c.unknown = func(name string) error { return usage(unknown("namespace of "+e.Name, name, c.names())) }
	if len(there) == 0 {
		c.rest = fmt.Sprintf("nothing of mailbench is on %s\n", e.Name)
	}
	for _, n := range there {
		tables, size, age := "-", "-", "-"
		if n.Tables > 0 {
			tables = fmt.Sprint(n.Tables)
		}
		if n.Bytes != nil {
			size = words.Size(float64(*n.Bytes))
		}
		if n.Since != nil {
			age = ageOf(*n.Since)
		}
		c.rows = append(c.rows, []string{n.Name, tables, size, age, cmp.Or(n.Owner, "-"), n.State})
	}
	return c, nil
}

func ageOf(since time.Time) string { return time.Since(since).Round(time.Second).String() }

// resultsDir is the folder of results if the user names none.
const resultsDir = "results"

// leftovers lists what killed runs left on this machine: temporary data folders,
// and unfinished results in a folder.
func leftovers(dir string) ([]scratch.Left, error) {
	data, err := scratch.Find(os.TempDir(), scratch.TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("look for temporary data folders: %w", err)
	}
	unfinished, err := scratch.Find(dir, results.PartialPattern)
	if err != nil {
		return nil, fmt.Errorf("look for unfinished results: %w", err)
	}
	return append(data, unfinished...), nil
}

// foldersLeft are the folders that killed runs left on this machine. Command lists them. It also names the results
// that killed runs had saved. mailbench never removes those: they are for the user to keep or remove.
func foldersLeft(dir, command string) (*cleaning, error) {
	there, err := leftovers(dir)
	if err != nil {
		return nil, err
	}
	c := &cleaning{
		json: append([]scratch.Left{}, there...), // an empty list is no null
		head: []string{"FOLDER", "SIZE", "AGE"},
		unknown: func(name string) error {
			return usagef("%s is not left by a killed run; %q lists all", name, command)
		},
		remove: func(name string) (string, error) { return "removed " + name, scratch.Remove(name) },
	}
	for _, l := range there {
		c.rows = append(c.rows, []string{l.Path, words.Size(float64(l.Bytes)), ageOf(l.Since)})
	}
	saved, _ := fs.Glob(os.DirFS(dir), results.PartialPattern)
	for _, name := range saved {
		path := filepath.Join(dir, name)
		if scratch.InUse(path) || scratch.Abandoned(path) {
			continue
		}
		if r, err := results.Open(path); err == nil {
			c.rest += fmt.Sprintf("%s has the results of %s: keep it or remove it by hand\n", path,
				words.Plural(len(r.Cells), "result"))
		}
	}
	if c.rest == "" && len(there) == 0 {
		c.rest = fmt.Sprintf("no folders of killed runs in %s and %s\n", os.TempDir(), dir)
	}
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
