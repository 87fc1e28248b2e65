package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/schemas/strict"
)

func newEngine(known registry) *cobra.Command {
	c := &cobra.Command{Use: "engine"}
	c.AddCommand(newEngineList(known), newEngineShow(known), newEngineUp(known), newEngineDown(known),
		newEngineStatus(known), newEngineLogs(known), newEngineClean(known))
	return c
}

// openEngine returns the instance of an engine that is in a folder, or in its usual one. If there is none, it says how
// to start one.
func openEngine(engine, dir string) (*launch.Instance, error) {
	in, err := launch.Open(engine, dir)
	if errors.Is(err, launch.ErrAbsent) {
		err = fmt.Errorf("%w; %s starts it", err, upCommand(engine, dir))
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
func launchable() []string {
	return mapped(launch.Engines(), func(f launch.Engine) string { return f.Name })
}

// instance is the argument of a command on an engine that mailbench can start. With optional, none means
// all of them.
func (r registry) instance(optional bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		names, see := launchable(), cmd.CommandPath()+" --help"
		switch {
		case len(args) == 0 && !optional:
			return usagef("no engine named; expected %s; see %q", strings.Join(names, " or "), see)
		case len(args) == 0 && cmd.Flags().Changed("dir"):
			return usagef("--dir belongs to one engine: name it; see %q", see)
		case len(args) != 1 || slices.Contains(names, args[0]):
			return cobra.MaximumNArgs(1)(cmd, args)
		}
		for _, e := range r.engines {
			if e.Server == "" || args[0] != e.Name {
				continue
			}
			switch cmd.Name() {
			case "status":
				return nil
			case "logs":
				return usagef("mailbench does not start %s; %s; %s", e.Name, e.Server, e.Logs)
			}
			return usagef("mailbench does not start %s; %s", e.Name, e.Server)
		}
		return usage(strict.Unknown("engine", args[0], names...))
	}
}

// foreign names the engines that mailbench reaches, but cannot start.
func (r registry) foreign() []string {
	return namesOf(r.able(func(e *drivers.Engine) bool { return e.Server != "" }))
}

func newEngineDown(known registry) *cobra.Command {
	var dir string
	var purge bool
	cmd := command("down ENGINE", known.instance(false), func(cmd *cobra.Command, args []string) error {
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
	})
	cmd.ValidArgs = launchable()
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data too")
	return cmd
}

func newEngineLogs(known registry) *cobra.Command {
	var dir, node string
	var tail int
	var follow bool
	cmd := command("logs ENGINE", known.instance(false), func(cmd *cobra.Command, args []string) error {
		in, err := openEngine(args[0], dir)
		if err != nil {
			return err
		}
		return in.Log(cmd.Context(), cmd.OutOrStdout(), node, tail, follow)
	})
	cmd.ValidArgs = launchable()
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().StringVar(&node, "node", "", "the `NODE`, as engine status names it (default: the first)")
	cmd.Flags().Var(whole(&tail, 0, 1_000_000), "tail", "print the last `N` lines only; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines, until Ctrl-C")
	return cmd
}

func newEngineUp(known registry) *cobra.Command {
	var c launch.Config
	var check bool
	cmd := command("up ENGINE", known.instance(false), func(cmd *cobra.Command, args []string) error {
		c.Engine = args[0]
		return up(cmd, c, check)
	})
	cmd.ValidArgs = launchable()
	flags := cmd.Flags()
	var ports []string
	for _, e := range launch.Engines() {
		flags.Var(whole(&c.Nodes, e.MinNodes, e.MaxNodes), e.Flag,
			fmt.Sprintf("%s: `N` of %d to %d", e.Nodes, e.MinNodes, e.MaxNodes))
		flags.Lookup(e.Flag).DefValue = strconv.Itoa(e.MinNodes)
		ports = append(ports, fmt.Sprintf("%d for %s", e.Port, e.Name))
	}
	flags.StringVar(&c.Dir, "dir", "", "`DIR` for configuration, data and logs (default: a folder of the engine in "+
		"mailbench's cache)")
	flags.Var(whole(&c.Port, 0, math.MaxUint16), "port", "first `PORT`; 0 uses free ones (default "+strings.Join(ports, ", ")+")")
	flags.Var(parsed((*strict.Size)(&c.HeapBytes), strict.ParseSize), "heap", "heap of each process: `SIZE` such as 1GiB (default 512MiB, of HBase 1GiB)")
	flags.IntVar(&c.Datacenters, "datacenters", 0, "Cassandra: `N` datacenters, dc1 and up, over which the nodes are spread")
	flags.StringToStringVar(&c.Options, "config", nil, "Cassandra: `NAME=VALUE`, a line of cassandra.yaml; may be given "+
		"several times")
	flags.BoolVar(&c.Auth, "auth", false, "Cassandra on one node: with a login, a restricted role and TLS")
	flags.BoolVar(&check, "check", false, "start nothing; check for Java and Maven on this machine, and exit with 1 if one is missing")
	bindJSON(flags, "print JSON")
	return cmd
}

// up starts an engine, or only checks that it could be started here.
func up(cmd *cobra.Command, c launch.Config, check bool) error {
	for _, e := range launch.Engines() {
		if e.Name != c.Engine && cmd.Flags().Changed(e.Flag) {
			return usagef("--%s is for %s; see %q", e.Flag, e.Name, cmd.CommandPath()+" --help")
		}
	}
	if c.Port == 0 && cmd.Flags().Changed("port") {
		c.Port = launch.AnyPort
	}
	if err := c.Check(); err != nil {
		return err
	}
	if check {
		err := launch.Available(cmd.Context(), c.Engine)
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s can be started here: %s\n", c.Engine, upCommand(c.Engine, c.Dir))
		}
		return err
	}
	begin := time.Now()
	c.Progress = func(line string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%4.0fs  %s\n", time.Since(begin).Seconds(), line)
	}
	in, err := launch.Up(cmd.Context(), c)
	switch {
	case errors.Is(err, context.Canceled):
		return statusError{exitInterrupted, errors.New("interrupted; started nodes are stopped again")}
	case err != nil:
		return err
	}
	return show(cmd, listInstance(in), func(w io.Writer, _ int) {
		was, how := "", "mailbench run -e "+in.Engine()
		if len(in.Started) == 0 {
			was = " was up already"
		}
		if !in.Usual() {
			how += " --contact " + in.Contact()[0]
		}
		l := in.Login()
		if l != nil {
			how += " --set engines.cassandra.tls=true --set engines.cassandra.tls_ca=" + l.Authority
		} else if shell := in.Shell(); shell != "" {
			how += "; " + shell
		}
		fmt.Fprintf(w, "%s%s (%s)\n", in, was, how)
		if l != nil {
			fmt.Fprintf(w, "login: export MAILBENCH_CASSANDRA_USER=%s MAILBENCH_CASSANDRA_PASSWORD_FILE=%s\n",
				l.User, l.PasswordFile)
		}
	})
}
