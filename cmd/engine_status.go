package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/subject"
)

func newEngineStatus(known registry) *cobra.Command {
	var dir string
	var f workloadFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [ENGINE]",
		Short: "List the nodes of engines; exit status 1 if not all are running",
		Long: `List the nodes of an engine that "engine up" has started, with what they take.
Without a name: those of all engines in their usual folders.

mailbench does not start Oracle NoSQL Database. For it this command says whether
one answers at --contact, and what starts one if none does. --set says how it is
reached, such as engines.oraclenosql.tls=true.`,
		Example: `  mailbench engine status
  mailbench engine status cassandra
  mailbench engine status cassandra --dir second
  mailbench engine status cassandra --json
  mailbench engine status oraclenosql --contact localhost:8080`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && slices.Contains(known.foreign(), args[0]) {
				return nil
			}
			return engineOrAll(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && slices.Contains(known.foreign(), args[0]) {
				return known.answers(cmd, args[0], &f, asJSON)
			}
			if f.contact != nil || len(f.set) > 0 {
				return usagef("--contact and --set are for engines that mailbench does not start: %s", strings.Join(known.foreign(), ", "))
			}
			if len(args) == 0 {
				return statusOfAll(cmd, asJSON)
			}
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			rows, all, down := statusOf(in)
			print := func() error {
				if asJSON {
					return printJSON(cmd.OutOrStdout(), all)
				}
				return table(cmd.OutOrStdout(), nodeHead, rows)
			}
			if err := print(); err != nil {
				return err
			}
			return downError(args[0], dir, down, len(rows))
		},
	}
	bindJSON(cmd, &asJSON)
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	f.bind(cmd.Flags())
	cmd.Flags().Lookup("contact").Usage = "`HOST` or HOST:PORT of a server that mailbench has not started"
	engineSet(cmd.Flags())
	return cmd
}

var nodeHead = []string{"NODE", "ADDRESS", "STATE", "PID", "UPTIME", "MEMORY"}

// statusOf lists the nodes of an instance, as rows and for JSON, and counts those that are down.
func statusOf(in *launch.Instance) (rows [][]string, all []listedNode, down int) {
	for _, n := range in.Nodes() {
		one := listNode(n)
		row := []string{n.Name, n.Address, "down", "-", "-", "-"}
		if one.Running {
			row = []string{
				n.Name, n.Address, "up", fmt.Sprint(one.PID),
				time.Since(n.Process.Started).Round(time.Second).String(), words.Size(float64(one.Memory)),
			}
		} else {
			down++
		}
		rows, all = append(rows, row), append(all, one)
	}
	return rows, all, down
}

// downError is the error of an engine of which nodes are down; nil if none is.
func downError(engine, dir string, down, of int) error {
	if down == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d nodes of %s are down; %s starts them", down, of, engine, upCommand(engine, dir))
}

// statusOfAll lists the nodes of all engines in their usual folders.
func statusOfAll(cmd *cobra.Command, asJSON bool) error {
	var rows [][]string
	all := []listedInstance{}
	var down []error
	err := eachEngine(cmd, func(name string, in *launch.Instance) error {
		nodes, _, n := statusOf(in)
		for _, row := range nodes {
			rows = append(rows, append([]string{name}, row...))
		}
		all = append(all, listInstance(in, name))
		down = append(down, downError(name, "", n, len(nodes)))
		return nil
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		err = printJSON(cmd.OutOrStdout(), all)
	case len(rows) > 0:
		err = table(cmd.OutOrStdout(), append([]string{"ENGINE"}, nodeHead...), rows)
	}
	return cmp.Or(err, errors.Join(down...))
}

// answers prints whether an engine that mailbench does not start answers.
func (r registry) answers(cmd *cobra.Command, name string, f *workloadFlags, asJSON bool) error {
	picked, err := r.pickEngines([]string{name})
	if err != nil {
		return err
	}
	more, err := contactOverride(picked, f.contact)
	if err != nil {
		return err
	}
	w, err := f.workload(r.engines, "quick", more...)
	if err != nil {
		return err
	}
	st, err := subject.Reach(cmd.Context(), picked[0], w, drivers.Options{ReadOnly: true})
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
	if asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]string{"address": where, "state": "up", "version": version})
	}
	return table(cmd.OutOrStdout(), []string{"ADDRESS", "STATE", "VERSION"}, [][]string{{where, "up", version}})
}
