package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/workloads/random"
)

func newEngine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Start, watch and stop a real engine on loopback",
		Long: `Start, watch and stop a real Cassandra or HBase on loopback, for tests and first
runs. It takes Java 11 or 17 and Maven: mvn fetches the engine's jars once, by
the settings it has on this machine, to mailbench's cache folder
($MAILBENCH_CACHE, or mailbench in the user's own).`,
		Example: `  mailbench engine up cassandra
  mailbench engine status cassandra
  mailbench engine down cassandra`,
	}
	cmd.AddCommand(newEngineUp(), newEngineDown(), newEngineStatus(), newEngineLogs(), newEngineClean())
	return cmd
}

// upFlags are the flags of engine up as they were given.
type upFlags struct {
	dir, heap            string
	nodes, regionServers int
	port                 int
	check                bool
}

func newEngineUp() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up ENGINE",
		Short: "Start an engine, or the nodes of it that are not running",
		Long: `Start Cassandra or HBase, and return when it serves: when each Cassandra node
answers and has the others for live, or when a table of HBase was made, written
and dropped. What runs already is left as it is.

It listens on loopback only and outlives this command; engine down ends it. The
ports above --port are taken too: Cassandra's is for CQL, then come internode
and one for JMX a node; HBase's is ZooKeeper's, then come master and region servers.`,
		Example: `  mailbench engine up cassandra
  mailbench engine up cassandra --nodes 3
  mailbench engine up hbase --regionservers 2
  mailbench engine up cassandra --dir /var/tmp/second --port 19042 --heap 2GiB`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.up(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.nodes, "nodes", 1, "Cassandra nodes, `N` of 1 to 3, on 127.0.0.1 and up")
	flags.IntVar(&f.regionServers, "regionservers", 0, "HBase region servers in processes of their own, `N` of 1 or 2; 0 is one process for all of HBase")
	flags.StringVar(&f.dir, "dir", "", "the `DIR` of configuration, data and logs (default: one for each engine in mailbench's cache)")
	flags.IntVar(&f.port, "port", 0, "the first `PORT`; 0 takes free ones (default 9042 for Cassandra, 2181 for HBase)")
	flags.StringVar(&f.heap, "heap", "", "each process' heap: `SIZE` such as 1GiB (default 512MiB)")
	flags.BoolVar(&f.check, "check", false, "start nothing; exit status 1 if this machine lacks the Java or the Maven to do it")
	return cmd
}

func (f *upFlags) up(cmd *cobra.Command, engine string) error {
	changed := cmd.Flags().Changed
	c := launch.Config{Engine: engine, Dir: f.dir, Port: f.port}
	switch {
	case changed("nodes") && engine != "cassandra":
		return usagef("--nodes is for cassandra; see --regionservers")
	case changed("regionservers") && engine != "hbase":
		return usagef("--regionservers is for hbase; see --nodes")
	case changed("nodes") && f.nodes < 1:
		return usagef("--nodes %d: expected 1 to 3", f.nodes)
	case changed("port") && f.port == 0:
		c.Port = launch.AnyPort
	case f.regionServers < 0:
		return usagef("--regionservers %d: expected 0 to 2", f.regionServers)
	case f.port < 0:
		return usagef("--port %d: expected 0 for any, or 1024 and up", f.port)
	}
	if changed("nodes") {
		c.Nodes = f.nodes
	}
	if changed("regionservers") {
		c.Nodes = f.regionServers
	}
	if f.heap != "" {
		size, err := random.ParseSize(f.heap)
		if err != nil {
			return usagef("--heap: %w", err)
		}
		c.HeapBytes = int64(size)
	}
	if f.check {
		return launch.Available(cmd.Context(), engine)
	}
	begin := time.Now()
	c.Progress = func(line string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%4.0fs  %s\n", time.Since(begin).Seconds(), line)
	}
	in, err := launch.Up(cmd.Context(), c)
	if err != nil {
		return launchError(err)
	}
	was := ""
	if len(in.Started) == 0 {
		was = " was up already"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s (%s)\n", in, was, connect(in, engine))
	return err
}

// connect says what to type to use an engine.
func connect(in *launch.Instance, engine string) string {
	how, contact := "mailbench run -e "+engine, in.Contact()[0]
	if !in.Usual() {
		how += " --contact " + contact
	}
	if engine == "cassandra" {
		how += "; cqlsh " + strings.Replace(contact, ":", " ", 1)
	}
	return how
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
			if err := in.Down(cmd.Context(), purge); err != nil {
				return err
			}
			what := "stopped; its data are kept in " + in.Dir()
			if purge {
				what = "stopped and removed"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", args[0], what)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data too")
	return cmd
}

func newEngineStatus() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "status ENGINE",
		Short: "List an engine's nodes; exit status 1 if not all are running",
		Example: `  mailbench engine status cassandra
  mailbench engine status cassandra --dir /var/tmp/second`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			var rows [][]string
			down := 0
			for _, n := range in.Nodes() {
				row := []string{n.Name, n.Address, "down", "-", "-", "-"}
				if n.Running() {
					row = []string{
						n.Name, n.Address, "up", fmt.Sprint(n.Process.PID),
						time.Since(n.Process.Started).Round(time.Second).String(), fmt.Sprintf("%d MiB", n.RSS()>>20),
					}
				} else {
					down++
				}
				rows = append(rows, row)
			}
			if err := table(cmd.OutOrStdout(), []string{"NODE", "ADDRESS", "STATE", "PID", "UPTIME", "MEMORY"}, rows); err != nil {
				return err
			}
			if down > 0 {
				return fmt.Errorf("%d of %d nodes of %s are down; %s starts them", down, len(rows), args[0], upCommand(args[0], dir))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	return cmd
}

func newEngineLogs() *cobra.Command {
	var dir, node string
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs ENGINE",
		Short: "Print the log of one node",
		Example: `  mailbench engine logs cassandra
  mailbench engine logs hbase --node regionserver2 -f`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			return launchError(in.Log(cmd.Context(), cmd.OutOrStdout(), node, follow))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().StringVar(&node, "node", "", "the `NODE`, as engine status names it (default: the first)")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	return cmd
}

// openEngine returns the instance of a folder, or says how there would be one.
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

// engineName checks the one argument of all that engine does.
func engineName(cmd *cobra.Command, args []string) error {
	known := launch.Engines()
	switch {
	case len(args) == 0:
		return usagef("no engine named; expected %s; see %q", strings.Join(known, " or "), cmd.CommandPath()+" --help")
	case len(args) == 1 && !slices.Contains(known, args[0]):
		return usage(unknown("engine", args[0], known))
	}
	return cobra.ExactArgs(1)(cmd, args)
}

// launchError gives an error of launch the exit status that it leads to.
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
