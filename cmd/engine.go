package cmd

import (
	"github.com/spf13/cobra"
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
