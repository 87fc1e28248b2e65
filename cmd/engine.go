package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/launch"
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
	cmd.AddCommand(newEngineUp(), newEngineDown(), newEngineStatus(), newEngineLogs(), newEngineClean(known))
	for _, c := range cmd.Commands() {
		words := launchable()
		if c.Name() == "clean" {
			words = known.engineNames()
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
