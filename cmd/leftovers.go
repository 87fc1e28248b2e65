package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/scratch"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/run"
)

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
