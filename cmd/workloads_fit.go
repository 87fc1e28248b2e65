package cmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads/fit"
	"github.com/mailbench/mailbench/workloads/random"
)

func newWorkloadsFit() *cobra.Command {
	var mbox []string
	var maildir, trace string
	var limit random.Size = defaultMail
	c := &cobra.Command{
		Use:   "fit {--mbox FILE | --maildir DIR} [--trace FILE]",
		Short: "Measure mail or a trace, and print a workload that fits it",
		Long: `Measure mail or a trace, and print a workload that fits it.

Mail says how large texts and attachments are, how many recipients, folders and
messages there are, and when it came. A trace says which operations there were,
when, and for which users and folders; "mailbench help workload" describes
trace files. With both, mail says what messages are like and how many lie in a
folder, and the trace says the rest.

Operations of a trace become a mix with their rate. Comments say how long users
pause between operations, and which operation follows which: with that a mix
can be written as sessions by hand.

Comments in the workload say what was measured, how far each distribution is
from it, and what does not fit. What was not measured is said, too. Nothing of
the mail itself is in it: no address, name, subject or text.`,
		Example: `  mailbench workloads fit --mbox archive.mbox.gz > fitted.yaml
  mailbench workloads fit --mbox inbox.mbox,sent.mbox   folders of one user
  mailbench workloads fit --maildir ~/Maildir           or a folder of them
  mailbench workloads fit --trace monday.jsonl --mbox archive.mbox.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, s := cmd.Context(), &fit.Sample{}
			switch {
			case len(mbox) > 0 && maildir != "":
				return usagef("both --mbox and --maildir; name one of them")
			case len(mbox) == 0 && maildir == "" && trace == "":
				return usagef("nothing to measure; name mail or a trace with --mbox, --maildir or --trace")
			}
			if len(mbox) > 0 {
				if err := s.ReadMbox(ctx, int64(limit), mbox...); err != nil {
					return missing(err)
				}
			}
			if maildir != "" {
				if err := s.ReadMaildir(ctx, maildir, int64(limit)); err != nil {
					return missing(err)
				}
			}
			if trace != "" {
				var file *fs.PathError
				if err := s.ReadTrace(ctx, trace); errors.As(err, &file) || ctx.Err() != nil {
					return missing(err)
				} else if err != nil {
					return usage(err) // a line of the trace is wrong
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", schemaLine, s.Workload())
			return err
		},
	}
	bindList(c.Flags(), &mbox, "mbox", "",
		"measure the mail of `FILE`,…, mbox files, plain or gzip; each is a folder")
	c.Flags().Var(size(&limit, random.KB, mostMail), "mail-limit",
		"refuse an mbox file, or a message of a maildir, with more than `SIZE`, unpacked")
	c.Flags().StringVar(&maildir, "maildir", "", "measure the mail of `DIR`, a maildir or a folder of one for each user")
	c.Flags().StringVar(&trace, "trace", "", "measure the operations of `FILE`, one JSON object a line")
	return c
}
