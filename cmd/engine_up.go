package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/workloads/random"
)

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
