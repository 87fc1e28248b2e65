package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/subject"
)

func newEngineList(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the engines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, mapped(known.engines, listEngine), []string{"ENGINE", "DESCRIPTION"},
				func(e listedEngine) []string { return []string{e.Name, e.Doc} })
		},
	}
	bindJSON(c.Flags(), "print JSON")
	return c
}

func newEngineShow(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:       "show ENGINE",
		Short:     "Show the settings of an engine",
		Args:      lacking(cobra.ExactArgs(1), "expected one engine"),
		ValidArgs: known.engineNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			engines, err := pickEngines(args, known.engines)
			for i := 0; i < len(engines) && err == nil; i++ { // all are several
				e := listEngine(engines[i])
				err = show(cmd, e, func(w io.Writer, _ int) { e.describe(w, engines[i].Server) })
			}
			return err
		},
	}
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

func listEngine(e drivers.Engine) listedEngine {
	none := []drivers.Setting{} // no null in JSON
	return listedEngine{
		e.Name, e.Doc, e.Remote, append(none, settingsOf(&e)...), append(none, e.Environment...), e.Lacking,
	}
}

// describe prints the settings of an engine. Server says what starts it, if mailbench does not.
func (e *listedEngine) describe(w io.Writer, server string) {
	fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
	if server != "" {
		fmt.Fprintf(w, "mailbench does not start it; %s. \"mailbench engine status %s\" says whether one answers.\n", server, e.Name)
	}
	if len(e.Settings) == 0 {
		fmt.Fprintln(w, "It has no settings.")
		return
	}
	printSettings(w, []string{"SETTING", "DEFAULT", "DESCRIPTION"}, e.Settings)
	printSettings(w, []string{"ENVIRONMENT", "DESCRIPTION"}, e.Environment)
	printSettings(w, []string{"MISSING FEATURE", "RESULT"}, e.Lacking)
}

// printSettings prints a table of settings, unless there are none. Only a head of three columns has room for defaults.
func printSettings(w io.Writer, head []string, all []drivers.Setting) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w)
	table(w, head, mapped(all, func(s drivers.Setting) []string {
		if len(head) == 3 {
			return []string{s.Name, s.Default, s.Doc}
		}
		return []string{s.Name, s.Doc}
	}))
}

// settingsOf are the settings of an engine, and for one on the network its address.
func settingsOf(e *drivers.Engine) []drivers.Setting {
	if !e.Remote {
		return e.Settings
	}
	return append([]drivers.Setting{{
		Name: "contact", Default: "this machine", Doc: "its nodes: HOST, HOST:PORT or a list of them; also --contact",
	}}, e.Settings...)
}

func newEngineStatus(known registry) *cobra.Command {
	var dir string
	var f workloadFlags
	cmd := &cobra.Command{
		Use:   "status [ENGINE]",
		Short: "List the nodes of engines; exit status 1 if not all are running",
		Args:  known.instance(true), ValidArgs: append(launchable(), known.foreign()...),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && !slices.Contains(launchable(), args[0]):
				return known.answers(cmd, args[0], &f)
			case f.contact != nil || len(f.set) > 0:
				return usagef("--contact and --set are for engines that mailbench does not start: %s", strings.Join(known.foreign(), ", "))
			}
			opened, err := openEngines(cmd, args, dir)
			if err != nil {
				return err
			}
			return statusOf(cmd, opened, len(args) == 1, dir)
		},
	}
	bindJSON(cmd.Flags(), "print JSON")
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	f.bind(cmd.Flags())
	cmd.Flags().Lookup("contact").Usage = "`HOST` or HOST:PORT of a server that mailbench has not started"
	engineSet(cmd.Flags())
	return cmd
}

// statusOf lists the nodes of instances: of the one in a folder, or of all with their engines. It is an error
// that nodes are down.
func statusOf(cmd *cobra.Command, opened []*launch.Instance, one bool, dir string) (err error) {
	head, rows := []string{"ENGINE", "NODE", "ADDRESS", "STATE", "PID", "UPTIME", "MEMORY"}, [][]string(nil)
	all, down := []listedInstance{}, []error(nil)
	for _, in := range opened {
		listed := listInstance(in)
		for _, n := range listed.Nodes {
			rows = append(rows, append([]string{listed.Engine}, n.row()...))
		}
		all, down = append(all, listed), append(down, listed.down(dir))
	}
	if one {
		err = list(cmd, all[0].Nodes, head[1:], listedNode.row)
	} else {
		err = show(cmd, all, func(w io.Writer, _ int) {
			if len(rows) > 0 {
				table(w, head, rows)
			}
		})
	}
	return cmp.Or(err, errors.Join(down...))
}

// row is a node in a table.
func (n listedNode) row() []string {
	if !n.Running {
		return []string{n.Name, n.Address, "down", "-", "-", "-"}
	}
	return []string{
		n.Name, n.Address, "up", fmt.Sprint(n.PID), ageOf(*n.Started), words.Size(float64(n.Memory)),
	}
}

// down is the error of an instance of which nodes are down; nil if none is.
func (in *listedInstance) down(dir string) error {
	down := 0
	for _, n := range in.Nodes {
		if !n.Running {
			down++
		}
	}
	if down == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d nodes of %s are down; %s starts them", down, len(in.Nodes), in.Engine,
		upCommand(in.Engine, dir))
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
		table(w, []string{"ADDRESS", "STATE", "VERSION"}, [][]string{{where, "up", version}})
	})
}
