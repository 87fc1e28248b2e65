package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/spf13/cobra"
)

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
func (r registry) foreign() (names []string) {
	for _, e := range r.engines {
		if e.Server != "" {
			names = append(names, e.Name)
		}
	}
	return names
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
