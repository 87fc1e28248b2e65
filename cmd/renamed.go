package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamed keeps the old name of a flag for scripts. The help does not show it, and who uses it is
// told the new one.
func renamed(c *cobra.Command, old, now string) {
	f := *c.Flags().Lookup(now)
	f.Name, f.Shorthand, f.Hidden = old, "", true
	f.Value = formerly{f.Value, func(value string) error {
		fmt.Fprintf(c.ErrOrStderr(), "mailbench: --%s is --%s now\n", old, now)
		return c.Flags().Set(now, value)
	}}
	c.Flags().AddFlag(&f)
}

// formerly is the value of a flag under its old name.
type formerly struct {
	pflag.Value
	set func(string) error
}

// Set implements pflag.Value.
func (f formerly) Set(value string) error { return f.set(value) }
