package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/subject"
)

// storeFlags say where the tables of a schema are. The store that they name is
// opened for reading only.
type storeFlags struct {
	workloadFlags
	engine              string
	keyspace, namespace string
	data                string
	blobs               string // the folder of what a model keeps outside of the engine, if that is known
	exact               bool   // no operation on the store is known to have been interrupted
}

func (f *storeFlags) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to look at: embedded, cassandra, hbase or oraclenosql")
	flags.StringVar(&f.keyspace, "keyspace", "", "Cassandra: the `KEYSPACE` in full (default: mailbench_SCHEMA)")
	flags.StringVar(&f.namespace, "namespace", "",
		"HBase, Oracle NoSQL: a `NAMESPACE` of the engine; HBase: or the names of tables up to their first dot (default: mailbench_SCHEMA)")
	flags.StringVar(&f.data, "data", "", "the dataset of a run with --data in `DIR`, on any engine")
	f.bindEngine(flags)
}

// use opens the store that holds the tables of a schema, for reading only, and closes it after do. If do finds no
// tables, the error says what is there instead.
func (f *storeFlags) use(
	ctx context.Context, known registry, s *schemas.Schema, do func(e drivers.Engine, st drivers.Store) error,
) error {
	e, err := f.pick(known)
	if err != nil {
		return err
	}
	f.exact = true
	o := drivers.Options{ReadOnly: true, Keyspace: f.keyspace + f.namespace} // at most one is set
	if f.data != "" {
		if err := f.place(&o, e, s.Name); err != nil {
			return err
		}
	}
	w, err := f.reach(known, e)
	if err != nil {
		return err
	}
	st, err := subject.Reach(ctx, e, w, o)
	if err != nil {
		return missing(err)
	}
	return errors.Join(f.absent(do(e, st)), st.Close())
}

// pick returns the engine, and checks that the flags fit it.
func (f *storeFlags) pick(known registry) (e drivers.Engine, err error) {
	if e, err = known.engineOf(f.engine, func(*drivers.Engine) bool { return true }); err != nil {
		return e, err
	}
	switch {
	case e.Name == nullEngine:
		return e, usagef("--engine %s stores nothing", e.Name)
	case f.keyspace != "" && e.Namespace == "namespace":
		return e, usagef("--keyspace %s: %s has namespaces; name one with --namespace", f.keyspace, e.Name)
	case f.keyspace != "" && e.Namespace != "keyspace":
		return e, usagef("--keyspace %s: %s has no keyspaces", f.keyspace, e.Name)
	case f.namespace != "" && e.Namespace != "namespace":
		return e, usagef("--namespace %s: %s has no namespaces", f.namespace, e.Name)
	case f.data == "" && !e.Remote:
		return e, usagef("name the data of %s with --data DIR", e.Name)
	}
	return e, nil
}

// place finds the data set of a schema. It is in the data folder itself, or in the folder of a
// model and engine that a run makes below it.
func (f *storeFlags) place(o *drivers.Options, e drivers.Engine, schema string) error {
	for _, dir := range []string{f.data, filepath.Join(f.data, schema+"-"+e.Name)} {
		d, err := subject.ReadDataset(dir)
		switch {
		case err != nil:
			return err
		case d == nil:
			continue
		case d.Engine != e.Name:
			return usagef("--data %s: the data set there is on %s", f.data, d.Engine)
		}
		o.Namespace, o.Dir, f.blobs = d.Namespace, subject.StoreDir(dir), subject.BlobsDir(dir)
		f.exact, err = d.Exact(dir)
		return err
	}
	if there := subject.Datasets(f.data, e.Name); e.Remote || len(there) > 0 {
		return usagef("--data %s: there is no data set of %s on %s; there is %s", f.data, schema, e.Name,
			cmp.Or(strings.Join(there, ", "), "none"))
	}
	o.Dir = f.data // the folder of the store itself
	return nil
}

// absent adds to an error of a store without the tables that the flags name what is there instead. It returns any
// other error as it is.
func (f *storeFlags) absent(err error) error {
	var a *drivers.AbsentError
	if !errors.As(err, &a) {
		return err
	}
	slices.Sort(a.There)
	const most = 8 // names in an error
	there := strings.Join(a.There[:min(len(a.There), most)], ", ")
	if n := len(a.There) - most; n > 0 {
		there += fmt.Sprintf(" and %d more", n)
	}
	advice := fmt.Sprintf("--%s NAME names another, --data DIR the data set that a run kept", a.What)
	if f.data != "" {
		advice = "name its schema, or another data set with --data"
	}
	instead := fmt.Sprintf("there is %s;", cmp.Or(there, "no "+a.What))
	if near := strict.Nearest(a.Name, a.There); near != "" {
		instead = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("%w; %s %s", a, instead, advice)
}

func newSchemaDiff(known registry) *cobra.Command {
	var f storeFlags
	var ignore []string
	cmd := known.onSchema("diff", func(cmd *cobra.Command, s *schemas.Schema, name string) error {
		return f.use(cmd.Context(), known, s, func(e drivers.Engine, st drivers.Store) error {
			c, err := drivers.Compare(cmd.Context(), st, s)
			if err != nil {
				return err
			}
			idle, version := c.Ignore(ignore), st.Capabilities().Version
			err = show(cmd, schemaDiff{s.Name, f.engine, version, c}, func(out io.Writer, _ int) {
				writeDiff(out, s, version, c, idle)
				// The store is open for reading only.
				if absent := st.Apply(cmd.Context(), s); errors.As(absent, new(*drivers.AbsentError)) {
					fmt.Fprintf(out, "Note: %v.\n", f.absent(absent))
				}
			})
			if err == nil && !c.AsDocument() {
				err = statusError{exitBroken, fmt.Errorf("%s differs from schema %s", c.Where, s.Name)}
			}
			return err
		})
	})
	f.bind(cmd.Flags())
	bindJSON(cmd.Flags(), "print JSON")
	bindList(cmd.Flags(), &ignore, "ignore", "", "accept these differences: `WORDS`, separated by commas (can be repeated)")
	return cmd
}

// writeDiff prints a comparison for people, and what --ignore left out. A statement that fixes several differences is
// printed with the first of them.
func writeDiff(out io.Writer, s *schemas.Schema, version string, c *drivers.Comparison, idle []string) {
	says := "differs from schema %s"
	switch {
	case len(c.Drifts) == 0 && len(c.Ignored) > 0:
		says = "equals schema %s, except for ignored differences"
	case len(c.Drifts) == 0:
		says = "equals schema %s: no difference"
	case c.AsDocument():
		says = "equals the source design of schema %s: only extensions are missing"
	}
	fmt.Fprintf(out, "%s (%s) "+says+".\n", c.Where, version, s.Name)
	printed := make(map[string]bool)
	for i, d := range c.Drifts {
		if i == 0 || d.Harm != c.Drifts[i-1].Harm {
			fmt.Fprintf(out, "\n%s\n", strings.ToUpper(d.Harm.String()))
		}
		fmt.Fprintf(out, "  %s\n", d)
		for _, stmt := range d.Fix {
			if !printed[stmt] {
				fmt.Fprintf(out, "      %s\n", strings.ReplaceAll(stmt, "\n", "\n      "))
			}
			printed[stmt] = true
		}
	}
	if len(c.Unseen) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(c.Unseen, "\n"))
	}
	if len(c.Ignored) > 0 {
		fmt.Fprintf(out, "\n%s ignored:\n", words.Plural(len(c.Ignored), "difference"))
	}
	for _, d := range c.Ignored {
		fmt.Fprintf(out, "  %s\n", d)
	}
	if len(idle) > 0 {
		fmt.Fprintf(out, "\n--ignore names no difference: %s\n", strings.Join(idle, ", "))
	}
}

// schemaDiff is the JSON of a comparison. Fields are added, never removed.
type schemaDiff struct {
	Schema  string `json:"schema"`
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*drivers.Comparison
}

// validateFlags are the flags of schema validate as they were given.
type validateFlags struct {
	storeFlags
	check   subject.Validation
	pace    validate.Pace
	rate    workloads.Rate // of rows
	noAudit bool
	silent  bool
}

func newSchemaValidate(known registry) *cobra.Command {
	f := validateFlags{check: subject.Validation{Config: validate.Config{Sample: 1, Workers: 4}}}
	cmd := known.onSchema("validate", func(cmd *cobra.Command, s *schemas.Schema, name string) error {
		return f.use(cmd.Context(), known, s, func(_ drivers.Engine, st drivers.Store) error {
			return f.run(cmd, known, name, s, st)
		})
	})
	flags := cmd.Flags()
	f.storeFlags.bind(flags)
	parse := func(text string) (share, error) {
		number, percent := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(number, 64)
		if percent {
			v /= 100
		}
		return share(v), err
	}
	flags.Var(within((*share)(&f.check.Sample), 0.00001, 1, "a share such as 1%,", parse), "sample",
		"read only this `SHARE` of each table, such as 1%, and the rows that it refers to; counters and orphaned rows need all of it")
	flags.Var(wholeUint64(&f.check.Seed), "seed", "draw the sample from seed `N`")
	flags.Var(whole(&f.check.Workers, 1, mostWorkers), "concurrency", "read with `N` concurrent sessions")
	flags.Var(parsed(&f.rate, workloads.ParseRate), "rate-limit",
		"read at most `RATE` rows, such as 5000/s, with all workers together")
	flags.Var(duration(&f.pace.Latency, time.Millisecond, time.Hour), "pause-on-latency", "pause when a read, such as one of a page of rows, takes longer than `TIME`, such as 200ms")
	flags.StringVar(&f.check.Resume, "resume", "", "save progress in `FILE`, and continue an interrupted check from it")
	flags.BoolVar(&f.noAudit, "no-verify", false, "skip the model's own verification")
	bindJSON(flags, "print the report as JSON")
	flags.BoolVarP(&f.silent, "quiet", "q", false, "no progress")
	return cmd
}

// share is a part of a whole, from 0 to 1.
type share float64

// String returns the share in percent.
func (s share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 4, 64) + "%" }

func (f *validateFlags) run(
	cmd *cobra.Command, known registry, name string, s *schemas.Schema, st drivers.Store,
) error {
	bar := screen.NewBar(cmd.ErrOrStderr(), f.silent)
	f.pace.Rate = f.rate.PerSecond()
	f.check.Pace, f.check.Note, f.check.Blobs, f.check.Exact = &f.pace, bar.Show, f.blobs, f.exact
	f.check.Open = func(s *schemas.Schema) (*validate.Journal, error) { return f.journal(cmd.Context(), st, s) }
	if !isFile(name) && !f.noAudit {
		picked, err := known.pickModels([]string{name})
		if err != nil {
			return err
		}
		f.check.Model = &picked[0]
	}
	found, err := f.check.Run(cmd.Context(), st, s)
	bar.Close()
	if found == nil {
		return err
	}
	wrong := show(cmd, found, found.WriteText)
	switch where := "data of " + found.Schema + " on " + found.Engine; {
	case wrong != nil:
	case found.Broken > 0:
		wrong = statusError{exitData, fmt.Errorf("%s is broken: %s", where, words.Plural(found.Broken, "row"))}
	case found.Audit != nil && found.Audit.Broken(f.exact):
		wrong = statusError{exitData, fmt.Errorf("%s is broken (verification of the model)", where)}
	}
	return errors.Join(err, wrong)
}

// journal opens the file of --resume.
func (f *validateFlags) journal(
	ctx context.Context, st drivers.Store, s *schemas.Schema,
) (_ *validate.Journal, err error) {
	store := f.engine + ", mailbench's own " + s.Name
	for _, where := range [][2]string{{"data ", f.data}, {"namespace ", f.namespace}, {"keyspace ", f.keyspace}} {
		if where[1] != "" {
			store = f.engine + ", " + where[0] + where[1]
		}
	}
	of := validate.Of{Store: store, Sample: f.check.Sample, Seed: f.check.Seed}
	if known, ok := st.(drivers.Identified); ok {
		of.Tables, err = known.Identity(ctx, s)
	} else if f.data != "" {
		of.Tables, err = filepath.Abs(f.data)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	j, err := validate.OpenJournal(f.check.Resume, of, s)
	switch {
	case err == nil:
		return j, nil
	case errors.Is(err, private.ErrLocked):
		return nil, fmt.Errorf("--resume %s: it is %w; wait for that check, or name another file", f.check.Resume, err)
	case errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("--resume: %w", err)
	}
	return nil, usagef("--resume %s: %w; name another file, or remove it to begin again", f.check.Resume, err)
}
