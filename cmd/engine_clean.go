package cmd

import (
	"cmp"
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
			names := args[1:]
			switch {
			case asJSON(cmd) && (all || len(names) > 0):
				return usagef("--json only lists; leave the names out")
			case args[0] == "all":
				return usagef("expected one engine, found all")
			}
			e, err := pickOne(args[0], known.engines)
			if err != nil {
				return err
			}
			w, err := f.reach(known, e)
			switch {
			case err != nil:
				return err
			case all && e.Remote:
				return usagef("--all: namespaces of %s may be in use by others; name those to drop", e.Name)
			case all && len(names) > 0:
				return usagef("--all removes all folders of killed runs; leave the names out")
			case e.Remote:
				return cleanNamespaces(cmd, e, w, names)
			}
			return cleanFolders(cmd, dir, names, all)
		},
	}
	f.bindEngine(cmd.Flags())
	bindJSON(cmd.Flags(), "print JSON")
	cmd.Flags().StringVar(&dir, "results", resultsDir, "`DIR` to look for unfinished results in")
	cmd.Flags().BoolVar(&all, "all", false, "remove all folders of killed runs")
	return cmd
}

// remove removes those of what is there that are named, or nothing if one of them is not there.
func remove(
	cmd *cobra.Command, names, there []string, unknown func(name string) error,
	one func(name string) (done string, err error),
) error {
	for _, name := range names {
		if !slices.Contains(there, name) {
			return unknown(name)
		}
	}
	for _, name := range names {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		done, err := one(name)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), done)
	}
	return nil
}

// cleanNamespaces lists the namespaces of mailbench on an engine, or drops those that are named.
func cleanNamespaces(cmd *cobra.Command, e drivers.Engine, w *workloads.Workload, names []string) error {
	there, err := subject.Namespaces(cmd.Context(), e, w)
	if err != nil {
		return err
	}
	if known := mapped(there, func(n subject.Namespace) string { return n.Name }); len(names) > 0 {
		unknown := func(name string) error { return usage(unknown("namespace of "+e.Name, name, known)) }
		return remove(cmd, names, known, unknown, func(name string) (string, error) {
			left, err := subject.DropNamespace(cmd.Context(), e, w, name)
			if left != "" {
				left = "\nleft: " + left
			}
			return "dropped " + name + left, err
		})
	}
	if len(there) == 0 && !asJSON(cmd) {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "nothing of mailbench is on %s\n", e.Name)
		return err
	}
	head := []string{"NAMESPACE", "TABLES", "SIZE", "AGE", "OWNER", "STATE"}
	return list(cmd, there, head, func(n subject.Namespace) []string {
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
		return []string{n.Name, tables, size, age, cmp.Or(n.Owner, "-"), n.State}
	})
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

// cleanFolders lists the folders that killed runs left on this machine, or removes those that are named, or all.
func cleanFolders(cmd *cobra.Command, dir string, names []string, all bool) error {
	there, err := leftovers(dir)
	if err != nil {
		return err
	}
	paths := mapped(there, func(l scratch.Left) string { return l.Path })
	if all {
		names = paths
	}
	if len(names) > 0 {
		unknown := func(name string) error {
			return usagef("%s is not left by a killed run; \"%s embedded\" lists all", name, cmd.CommandPath())
		}
		return remove(cmd, names, paths, unknown, func(name string) (string, error) {
			return "removed " + name, scratch.Remove(name)
		})
	}
	return show(cmd, append([]scratch.Left{}, there...), func(w io.Writer, _ int) { // an empty list is no null
		saved := savedLeft(dir)
		if len(there) > 0 {
			table(w, []string{"FOLDER", "SIZE", "AGE"}, mapped(there, func(l scratch.Left) []string {
				return []string{l.Path, words.Size(float64(l.Bytes)), ageOf(l.Since)}
			}))
		} else if saved == "" {
			fmt.Fprintf(w, "no folders of killed runs in %s and %s\n", os.TempDir(), dir)
		}
		fmt.Fprint(w, saved)
	})
}

// savedLeft names the results that killed runs had saved in a folder. mailbench never removes those: they are for the
// user to keep or remove.
func savedLeft(dir string) (text string) {
	saved, _ := fs.Glob(os.DirFS(dir), results.PartialPattern)
	for _, name := range saved {
		path := filepath.Join(dir, name)
		if scratch.InUse(path) || scratch.Abandoned(path) {
			continue
		}
		if r, err := results.Open(path); err == nil {
			text += fmt.Sprintf("%s has the results of %s: keep it or remove it by hand\n", path,
				words.Plural(len(r.Cells), "result"))
		}
	}
	return text
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
