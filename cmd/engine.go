package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/workloads/random"
)

func newEngine(known registry) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Start, watch and stop a real engine on loopback",
		Long: `Start, watch and stop a real Cassandra or HBase on loopback, for tests and first
runs. This needs Java 11 or 17, and Maven. Maven fetches the engine's jars once,
with your own Maven settings, into mailbench's cache folder: $MAILBENCH_CACHE,
or the folder mailbench in your user cache.`,
		Example: `  mailbench engine up cassandra
  mailbench engine status cassandra
  mailbench engine down cassandra`,
	}
	cmd.AddCommand(newEngineUp(), newEngineDown(), newEngineStatus(known), newEngineLogs(), newEngineClean(known))
	for _, c := range cmd.Commands() {
		words := launchable()
		switch c.Name() {
		case "clean":
			words = known.engineNames()
		case "status":
			words = append(words, known.foreign()...)
		default:
			c.Args = known.startable(c.Args)
		}
		c.ValidArgsFunction = completeOne(words)
	}
	return cmd
}

// engineDir is the folder in which the nodes at these addresses keep their data, if "engine
// up" started them in its usual folder on this machine; else "".
func engineDir(engine string, contact []string) string {
	if in := usualInstance(engine, contact); in != nil {
		return in.Dir()
	}
	return ""
}

// engineProcesses are the ids of the nodes at these addresses, if "engine up" started them in
// its usual folder on this machine.
func engineProcesses(engine string, contact []string) (pids []int) {
	in := usualInstance(engine, contact)
	if in == nil {
		return nil
	}
	for _, n := range in.Nodes() {
		if n.Running() {
			pids = append(pids, n.Process.PID)
		}
	}
	return pids
}

// usualInstance is the instance in the usual folder of this machine, if its nodes serve at these
// addresses; else nil.
func usualInstance(engine string, contact []string) *launch.Instance {
	in, err := launch.Open(engine, "")
	if err != nil || !in.Serves(contact) {
		return nil
	}
	return in
}

// openEngine returns the instance of a folder. If there is none, the error says how to start it.
func openEngine(engine, dir string) (*launch.Instance, error) {
	in, err := launch.Open(engine, dir)
	if errors.Is(err, launch.ErrAbsent) {
		return nil, fmt.Errorf("%w; %s starts it", err, upCommand(engine, dir))
	}
	return in, err
}

func upCommand(engine, dir string) string {
	if dir != "" {
		engine += fmt.Sprintf(" --dir %q", dir)
	}
	return "mailbench engine up " + engine
}

// launchable names the engines that mailbench can start.
func launchable() (names []string) {
	for _, f := range launch.Engines() {
		names = append(names, f.Name)
	}
	return names
}

// engineName checks the one argument of the commands that work on an instance.
func engineName(cmd *cobra.Command, args []string) error {
	known := launchable()
	switch {
	case len(args) == 0:
		return usagef("no engine named; expected %s; see %q", strings.Join(known, " or "), cmd.CommandPath()+" --help")
	case len(args) == 1 && !slices.Contains(known, args[0]):
		return usage(unknown("engine", args[0], known))
	}
	return cobra.ExactArgs(1)(cmd, args)
}

// engineOrAll checks the argument of commands that show one instance, or all.
func engineOrAll(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return engineName(cmd, args)
	}
	if cmd.Flags().Changed("dir") {
		return usagef("--dir is of one engine: name it; see %q", cmd.CommandPath()+" --help")
	}
	return nil
}

// eachEngine calls f with each engine that is in its usual folder. If there is none, it says so.
func eachEngine(cmd *cobra.Command, f func(name string, in *launch.Instance) error) error {
	found := false
	for _, name := range launchable() {
		in, err := launch.Open(name, "")
		if errors.Is(err, launch.ErrAbsent) {
			continue
		}
		if err == nil {
			found, err = true, f(name, in)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		fmt.Fprintf(cmd.ErrOrStderr(), "no engine was started in its usual folder; %s starts one, --dir names another folder\n",
			upCommand(strings.Join(launchable(), "|"), ""))
	}
	return nil
}

// foreign names the engines that mailbench reaches, but cannot start.
func (r registry) foreign() []string {
	return namesOf(r.able(func(e *drivers.Engine) bool { return e.Server != "" }))
}

// startable refuses engines that mailbench cannot start, and says what does. args checks all others.
func (r registry) startable(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, words []string) error {
		for _, e := range r.engines {
			if e.Server != "" && len(words) == 1 && words[0] == e.Name {
				how := e.Server
				if cmd.Name() == "logs" {
					how += "; " + e.Logs
				}
				return usagef("mailbench does not start %s; %s", e.Name, how)
			}
		}
		return args(cmd, words)
	}
}

// launchError gives an error of package launch its exit status.
func launchError(err error) error {
	var fault launch.UsageError
	switch {
	case errors.As(err, &fault):
		return usage(err)
	case errors.Is(err, context.Canceled):
		return statusError{exitInterrupted, errors.New("interrupted; what was started is stopped again")}
	}
	return err
}

func newEngineDown() *cobra.Command {
	var dir string
	var purge bool
	cmd := &cobra.Command{
		Use:   "down ENGINE",
		Short: "Stop an engine that engine up has started",
		Example: `  mailbench engine down cassandra
  mailbench engine down hbase --purge`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			what, kept := "was not running", "; its data are kept in "+in.Dir()
			if slices.ContainsFunc(in.Nodes(), launch.Node.Running) {
				what = "stopped"
			}
			if err := in.Down(cmd.Context(), purge); err != nil {
				return err
			}
			if purge {
				kept = "; its data are removed"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s%s\n", args[0], what, kept)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data too")
	return cmd
}

// tailOfAll is how many lines of each log are printed if no engine is named.
const tailOfAll = 20

func newEngineLogs() *cobra.Command {
	var dir, node string
	var tail int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [ENGINE]",
		Short: "Print the log of one node, or the ends of all logs",
		Example: `  mailbench engine logs
  mailbench engine logs cassandra --tail 50
  mailbench engine logs hbase --node regionserver2 -f`,
		Args: engineOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				in, err := openEngine(args[0], dir)
				if err != nil {
					return err
				}
				return launchError(in.Log(cmd.Context(), cmd.OutOrStdout(), node, tail, follow))
			}
			if follow || node != "" {
				return usagef("--follow and --node are of one engine: name it")
			}
			if !cmd.Flags().Changed("tail") {
				tail = tailOfAll
			}
			return eachEngine(cmd, func(name string, in *launch.Instance) error {
				for _, n := range in.Nodes() {
					fmt.Fprintf(cmd.OutOrStdout(), "==> %s %s <==\n", name, n.Name)
					if err := in.Log(cmd.Context(), cmd.OutOrStdout(), n.Name, tail, false); err != nil {
						return launchError(err)
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().StringVar(&node, "node", "", "the `NODE`, as engine status names it (default: the first)")
	cmd.Flags().Var(whole(&tail, 0, 1_000_000), "tail",
		fmt.Sprintf("print the last `N` lines only; 0: all (of all engines %d)", tailOfAll))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines, until Ctrl-C")
	return cmd
}

// upFlags are the flags of engine up as they were given.
type upFlags struct {
	dir, heap string
	nodes     map[string]*int // number of nodes by engine; each engine has its own flag
	port      int
	check     bool
	auth      bool
	asJSON    bool

	datacenters int
	options     map[string]string // lines of cassandra.yaml
}

func newEngineUp() *cobra.Command {
	f := upFlags{nodes: map[string]*int{}}
	cmd := &cobra.Command{
		Use:   "up ENGINE",
		Short: "Start an engine, or those of its nodes that are not running",
		Long: `Start Cassandra or HBase, and return when it serves: when each Cassandra node
answers and sees all others, or when HBase has made, written and dropped a
table. Nodes that run already are left as they are.

The engine listens on loopback only and outlives this command. engine down stops
it. The engine also uses the ports above --port. Cassandra's --port is CQL; the
port above is internode. HBase's --port is ZooKeeper; the ports above are the
master and the region servers.

Everybody on this machine can reach it, without a login. With --auth Cassandra
has one: TLS, and a role that may use only what it has made itself. Its password
and the certificate are in files that only you can read. mailbench speaks no
Kerberos, so it has no login for HBase.`,
		Example: `  mailbench engine up cassandra
  mailbench engine up cassandra --nodes 3
  mailbench engine up hbase --regionservers 2
  mailbench engine up cassandra --auth
  mailbench engine up cassandra --dir second --port 19042 --heap 2GiB`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.up(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	var ports []string
	for _, e := range launch.Engines() {
		n := e.MinNodes
		f.nodes[e.Name] = &n
		flags.Var(whole(&n, e.MinNodes, e.MaxNodes), nodesFlag(e),
			fmt.Sprintf("%s: `N` of %d to %d", e.Nodes, e.MinNodes, e.MaxNodes))
		ports = append(ports, fmt.Sprintf("%d for %s", e.Port, e.Name))
	}
	flags.StringVar(&f.dir, "dir", "", "`DIR` for configuration, data and logs (default: a folder of the engine in "+
		"mailbench's cache)")
	flags.IntVar(&f.port, "port", 0, "first `PORT`; 0 takes free ones (default "+strings.Join(ports, ", ")+")")
	flags.StringVar(&f.heap, "heap", "", "heap of each process: `SIZE` such as 1GiB (default 512MiB, of HBase 1GiB)")
	flags.IntVar(&f.datacenters, "datacenters", 0, "Cassandra: `N` datacenters, dc1 and up, over which the nodes are spread")
	flags.StringToStringVar(&f.options, "config", nil, "Cassandra: `NAME=VALUE`, a line of cassandra.yaml; may be given "+
		"several times")
	flags.BoolVar(&f.auth, "auth", false, "Cassandra on one node: with a login, a restricted role and TLS")
	flags.BoolVar(&f.check, "check", false, "start nothing; say whether this machine has Java and Maven, and exit with 1 if not")
	bindJSON(cmd, &f.asJSON)
	return cmd
}

// nodesFlag is the flag that counts an engine's nodes: nodes, regionservers.
func nodesFlag(e launch.Facts) string { return strings.ReplaceAll(e.Unit, " ", "") + "s" }

func (f *upFlags) up(cmd *cobra.Command, engine string) error {
	c, err := f.config(cmd, engine)
	if err != nil {
		return err
	}
	if f.check {
		why := launch.Available(cmd.Context(), engine)
		if why == nil {
			_, why = fmt.Fprintf(cmd.OutOrStdout(), "%s can be started here: %s\n", engine, upCommand(engine, f.dir))
		}
		return why
	}
	begin := time.Now()
	c.Progress = func(line string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%4.0fs  %s\n", time.Since(begin).Seconds(), line)
	}
	in, err := launch.Up(cmd.Context(), c)
	if err != nil {
		return launchError(err)
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), listInstance(in, engine))
	}
	was := ""
	if len(in.Started) == 0 {
		was = " was up already"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s (%s)\n", in, was, connect(in, engine))
	if l := in.Login(); l != nil && err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "login: export MAILBENCH_CASSANDRA_USER=%s "+
			"MAILBENCH_CASSANDRA_PASSWORD_FILE=%s\n",
			l.User, l.PasswordFile)
	}
	return err
}

// config turns the flags into the configuration of launch.
func (f *upFlags) config(cmd *cobra.Command, engine string) (launch.Config, error) {
	changed := cmd.Flags().Changed
	c := launch.Config{
		Engine: engine, Dir: f.dir, Port: f.port, Auth: f.auth, Datacenters: f.datacenters, Options: f.options,
	}
	for _, e := range launch.Engines() {
		switch flag := nodesFlag(e); {
		case !changed(flag):
		case e.Name != engine:
			return c, usagef("--%s is for %s; see %q", flag, e.Name, cmd.CommandPath()+" --help")
		default:
			c.Nodes = *f.nodes[e.Name]
		}
	}
	switch {
	case changed("port") && f.port == 0:
		c.Port = launch.AnyPort
	case f.port < 0:
		return c, usagef("--port %d: expected 0 for any, or 1024 and up", f.port)
	}
	if f.heap != "" {
		size, err := random.ParseSize(f.heap)
		if err != nil {
			return c, usagef("--heap: %w", err)
		}
		c.HeapBytes = int64(size)
	}
	if err := c.Check(); err != nil {
		return c, launchError(err)
	}
	return c, nil
}

// connect says what to type to use an engine.
func connect(in *launch.Instance, engine string) string {
	how := "mailbench run -e " + engine
	if !in.Usual() {
		how += " --contact " + in.Contact()[0]
	}
	if l := in.Login(); l != nil {
		return how + " --set engines.cassandra.tls=true --set engines.cassandra.tls_ca=" + l.Authority
	}
	if shell := in.Shell(); shell != "" {
		how += "; " + shell
	}
	return how
}
