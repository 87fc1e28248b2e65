package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/scratch"
	"github.com/mailbench/mailbench/workloads/subject"
)

func newEngineList(known registry) *cobra.Command {
	c := command("list", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return list(cmd, mapped(known.engines, listEngine), []string{"ENGINE", "DESCRIPTION"},
			func(e listedEngine) []string { return []string{e.Name, e.Doc} })
	})
	bindJSON(c.Flags(), "print JSON")
	return c
}

func newEngineShow(known registry) *cobra.Command {
	one := lacking(cobra.ExactArgs(1), "expected one engine")
	c := command("show ENGINE", one, func(cmd *cobra.Command, args []string) error {
		engines, err := pickEngines(args, known.engines)
		if err != nil {
			return err
		}
		var v any = mapped(engines, listEngine)
		if args[0] != "all" {
			v = listEngine(engines[0])
		}
		return show(cmd, v, func(w io.Writer, _ int) {
			for i, e := range engines {
				if i > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
				if e.Server != "" {
					fmt.Fprintf(w, "mailbench does not start it; %s. \"mailbench engine status %s\" says whether one answers.\n",
						e.Server, e.Name)
				}
				listed := listEngine(e)
				if len(listed.Settings) == 0 {
					fmt.Fprintln(w, "It has no settings.")
				}
				printSettings(w, []string{"SETTING", "DEFAULT", "DESCRIPTION"}, listed.Settings)
				printSettings(w, []string{"ENVIRONMENT", "DESCRIPTION"}, listed.Environment)
				printSettings(w, []string{"MISSING FEATURE", "RESULT"}, listed.Lacking)
			}
		})
	})
	c.ValidArgs = known.engineNames()
	bindJSON(c.Flags(), "print JSON")
	return c
}

// listedEngine is the JSON of an engine. Fields are added, never removed.
type listedEngine struct {
	Name        string            `json:"name"`
	Doc         string            `json:"description"`
	Remote      bool              `json:"remote"` // the engine is reached over the network
	Settings    []drivers.Setting `json:"settings"`
	Environment []drivers.Setting `json:"environment"`
	Lacking     []drivers.Setting `json:"lacking,omitempty"` // what a server may lack, and what happens then
}

// listEngine has the address among the settings of an engine on the network.
func listEngine(e drivers.Engine) listedEngine {
	settings, environment := []drivers.Setting{}, []drivers.Setting{} // no null in JSON
	if e.Remote {
		settings = append(settings, drivers.Setting{
			Name: "contact", Default: "this machine", Doc: "its nodes: HOST, HOST:PORT or a list of them; also --contact",
		})
	}
	settings, environment = append(settings, e.Settings...), append(environment, e.Environment...)
	return listedEngine{e.Name, e.Doc, e.Remote, settings, environment, e.Lacking}
}

// printSettings prints a table of settings, unless there are none. Only a head of three columns has room for defaults.
func printSettings(w io.Writer, head []string, all []drivers.Setting) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w)
	screen.Table(w, head, mapped(all, func(s drivers.Setting) []string {
		if len(head) == 3 {
			return []string{s.Name, s.Default, s.Doc}
		}
		return []string{s.Name, s.Doc}
	}))
}

func newEngineStatus(known registry) *cobra.Command {
	var dir string
	var f workloadFlags
	cmd := command("status [ENGINE]", known.instance(true), func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 1 && !slices.Contains(launchable(), args[0]):
			return known.answers(cmd, args[0], &f)
		case f.contact != nil || len(f.set) > 0:
			return usagef("--contact and --set are for engines that mailbench does not start: %s", strings.Join(known.foreign(), ", "))
		}
		var opened []*launch.Instance
		for _, name := range launchable() {
			if len(args) == 1 && args[0] != name {
				continue
			}
			switch in, err := openEngine(name, dir); {
			case err == nil:
				opened = append(opened, in)
			case len(args) == 1 || !errors.Is(err, launch.ErrAbsent):
				return err
			}
		}
		return statusOf(cmd, opened, dir)
	})
	cmd.ValidArgs = append(launchable(), known.foreign()...)
	bindJSON(cmd.Flags(), "print JSON")
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	f.bindSet(cmd.Flags())
	bindList(cmd.Flags(), &f.contact, "contact", "", "`HOST` or HOST:PORT of a server that mailbench has not started")
	return cmd
}

// statusOf lists the nodes of instances. It is an error that nodes are down.
func statusOf(cmd *cobra.Command, opened []*launch.Instance, dir string) error {
	var rows [][]string
	var down []error
	all := mapped(opened, listInstance)
	for _, listed := range all {
		n := 0
		for _, node := range listed.Nodes {
			row := []string{listed.Engine, node.Name, node.Address, "down", "-", "-", "-"}
			if node.Running {
				row = append(row[:3], "up", fmt.Sprint(node.PID), ageOf(*node.Started), words.Size(float64(node.Memory)))
			} else {
				n++
			}
			rows = append(rows, row)
		}
		if n > 0 {
			down = append(down, fmt.Errorf("%d of %d nodes of %s are down; %s starts them", n, len(listed.Nodes), listed.Engine,
				upCommand(listed.Engine, dir)))
		}
	}
	err := show(cmd, all, func(w io.Writer, _ int) {
		if len(rows) == 0 {
			fmt.Fprintf(w, "no engine was started in its usual folder; %s starts one, --dir names another folder\n",
				upCommand(strings.Join(launchable(), "|"), ""))
			return
		}
		screen.Table(w, []string{"ENGINE", "NODE", "ADDRESS", "STATE", "PID", "UPTIME", "MEMORY"}, rows)
	})
	return cmp.Or(err, errors.Join(down...))
}

// listedInstance and listedNode are the JSON of what engine up has started, or found running. Fields are
// added, never removed.
type listedInstance struct {
	Engine       string       `json:"engine"`
	Dir          string       `json:"dir"`
	Contact      []string     `json:"contact"` // for --contact
	WasUp        bool         `json:"was_up"`
	User         string       `json:"user,omitempty"`          // empty if the engine has no login
	PasswordFile string       `json:"password_file,omitempty"` // file with the password of User
	Nodes        []listedNode `json:"nodes"`
}

type listedNode struct {
	Name    string     `json:"name"`
	Address string     `json:"address"`
	Running bool       `json:"running"`
	PID     int        `json:"pid,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Memory  int64      `json:"memory_bytes,omitempty"`
}

func listInstance(in *launch.Instance) listedInstance {
	one := listedInstance{
		Engine: in.Engine(), Dir: in.Dir(), Contact: in.Contact(),
		WasUp: len(in.Started) == 0, Nodes: []listedNode{},
	}
	if l := in.Login(); l != nil {
		one.User, one.PasswordFile = l.User, l.PasswordFile
	}
	for _, n := range in.Nodes() {
		l := listedNode{Name: n.Name, Address: n.Address, Running: n.Running()}
		if l.Running {
			started := n.Process.Started.UTC().Truncate(time.Second) // RFC 3339 without fractions
			l.PID, l.Memory, l.Started = n.Process.PID, n.RSS(), &started
		}
		one.Nodes = append(one.Nodes, l)
	}
	return one
}

// answers prints whether an engine that mailbench does not start answers.
func (r registry) answers(cmd *cobra.Command, name string, f *workloadFlags) error {
	e, err := pickOne(name, r.engines)
	if err != nil {
		return err
	}
	w, err := f.reach(r, e)
	if err != nil {
		return err
	}
	st, err := subject.Reach(cmd.Context(), e, w, drivers.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	version := st.Capabilities().Version
	if err := st.Close(); err != nil {
		return err
	}
	where := "this machine"
	if len(f.contact) > 0 {
		where = strings.Join(f.contact, ", ")
	}
	state := map[string]string{"address": where, "state": "up", "version": version}
	return show(cmd, state, func(w io.Writer, _ int) {
		screen.Table(w, []string{"ADDRESS", "STATE", "VERSION"}, [][]string{{where, "up", version}})
	})
}

func newEngineClean(known registry) *cobra.Command {
	var f workloadFlags
	var dir string
	var all bool
	some := lacking(cobra.MinimumNArgs(1), "no engine named")
	cmd := command("clean ENGINE [NAME...]", some, func(cmd *cobra.Command, args []string) error {
		names := args[1:]
		if asJSON(cmd) && (all || len(names) > 0) {
			return usagef("--json only lists; leave the names out")
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
		case !e.Remote && len(names) > 0:
			return usagef("%s: --all removes all folders of killed runs; leave the names out", e.Name)
		case e.Remote:
			return cleanNamespaces(cmd, e, w, names)
		}
		return cleanFolders(cmd, dir, all)
	})
	cmd.ValidArgs = known.engineNames()
	f.bindEngine(cmd.Flags())
	bindJSON(cmd.Flags(), "print JSON")
	cmd.Flags().StringVar(&dir, "results", resultsDir, "`DIR` to look for unfinished results in")
	cmd.Flags().BoolVar(&all, "all", false, "remove all folders of killed runs")
	return cmd
}

// cleanNamespaces lists the namespaces of mailbench on an engine, or drops those that are named: none if one of them
// is not there.
func cleanNamespaces(cmd *cobra.Command, e drivers.Engine, w *workloads.Workload, names []string) error {
	there, err := subject.Namespaces(cmd.Context(), e, w)
	if err != nil {
		return err
	}
	known := mapped(there, func(n subject.Namespace) string { return n.Name })
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usage(strict.Unknown("namespace of "+e.Name, name, known...))
		}
	}
	for _, name := range names {
		left, err := subject.DropNamespace(cmd.Context(), e, w, name)
		if err != nil {
			return err
		}
		if left != "" {
			left = "\nleft: " + left
		}
		fmt.Fprintf(cmd.OutOrStdout(), "dropped %s%s\n", name, left)
	}
	if len(names) > 0 {
		return nil
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
		if !n.Since.IsZero() {
			age = ageOf(n.Since)
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

// cleanFolders lists the folders that killed runs left on this machine, or removes them. It never removes results that
// they had saved.
func cleanFolders(cmd *cobra.Command, dir string, all bool) error {
	there, err := leftovers(dir)
	if err != nil {
		return err
	}
	if len(there) == 0 && !asJSON(cmd) {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "no folders of killed runs in %s and %s\n", os.TempDir(), dir)
		return err
	}
	if all {
		for _, l := range there {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := scratch.Remove(l.Path); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "removed "+l.Path)
		}
		return nil
	}
	return list(cmd, there, []string{"FOLDER", "SIZE", "AGE"}, func(l scratch.Left) []string {
		return []string{l.Path, words.Size(float64(l.Bytes)), ageOf(l.Since)}
	})
}
