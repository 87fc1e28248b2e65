package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/subject"
)

// storeFlags say where the tables of a schema are. The store that they name is
// opened for reading only.
type storeFlags struct {
	workloadFlags
	from                string // the workload that says where the engine is
	engine              string
	keyspace, namespace string
	data                string
	blobs               string // the folder of what a model keeps outside of the engine, if that is known
	exact               bool   // nothing is known to have been broken off on what is opened
}

func (f *storeFlags) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to look at: embedded, cassandra, hbase or oraclenosql")
	flags.StringVar(&f.keyspace, "keyspace", "", "Cassandra: the `KEYSPACE` in full (default: mailbench_SCHEMA)")
	flags.StringVar(&f.namespace, "namespace", "",
		"HBase, Oracle NoSQL: a `NAMESPACE` of the engine; HBase: or the names of tables up to their first dot (default: mailbench_SCHEMA)")
	flags.StringVar(&f.data, "data", "", "the data set that a run kept in `DIR`, on any engine")
	flags.StringVar(&f.from, "workload", "quick", "`WORKLOAD` or file that says where the engine is and how it is reached")
	f.workloadFlags.bind(flags)
	engineSet(flags)
}

// open opens the store that holds the tables of a schema, for reading only.
func (f *storeFlags) open(ctx context.Context, known registry, s *schemas.Schema) (drivers.Store, error) {
	e, err := f.pick(known)
	if err != nil {
		return nil, err
	}
	f.exact = true
	o := drivers.Options{ReadOnly: true, Keyspace: f.keyspace + f.namespace} // at most one is set
	if f.data != "" {
		if err := f.place(&o, e, s.Name); err != nil {
			return nil, err
		}
	}
	if !e.Remote {
		st, err := e.Open(ctx, o)
		return st, missing(err)
	}
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return nil, err
	}
	w, err := f.workload(known.engines, f.from, more...)
	if err != nil {
		return nil, err
	}
	return subject.Reach(ctx, e, w, o)
}

// pick returns the engine, and checks that the flags fit it.
func (f *storeFlags) pick(known registry) (e drivers.Engine, err error) {
	if f.engine == "" {
		return e, usagef("no engine named; add --engine embedded, cassandra, hbase or oraclenosql")
	}
	engines, err := known.pickEngines([]string{f.engine})
	switch {
	case err != nil:
		return e, err
	case len(engines) != 1:
		return e, usagef("--engine all: name one engine")
	}
	e = engines[0]
	switch {
	case e.Name == known.floor.Name:
		return e, usagef("--engine %s keeps nothing that could be read", e.Name)
	case f.keyspace != "" && e.Namespace == "namespace":
		return e, usagef("--keyspace %s: %s has namespaces; name one with --namespace", f.keyspace, e.Name)
	case f.keyspace != "" && e.Namespace != "keyspace":
		return e, usagef("--keyspace %s: %s has no keyspaces", f.keyspace, e.Name)
	case f.namespace != "" && e.Namespace != "namespace":
		return e, usagef("--namespace %s: %s has no namespaces", f.namespace, e.Name)
	case f.data != "" && f.keyspace+f.namespace != "":
		return e, usagef("--data names a data set, so that its keyspace or namespace cannot be named too")
	case f.data == "" && !e.Remote:
		return e, usagef("--data DIR says where the data of %s is", e.Name)
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
	if e.Remote {
		return usagef("--data %s: there is no data set of %s on %s", f.data, schema, e.Name)
	}
	o.Dir = f.data // the folder of the store itself
	return nil
}

// absent adds to an error of a store that lacks what the flags name what is there instead, and which flag
// names that. It returns any other error as it is.
func (f *storeFlags) absent(err error) error {
	const most = 8 // names in an error
	var a *drivers.AbsentError
	if !errors.As(err, &a) {
		return err
	}
	slices.Sort(a.There)
	instead := fmt.Sprintf("there is no other %s;", a.What)
	switch near, n := strict.Nearest(a.Name, a.There), len(a.There); {
	case near != "":
		instead = fmt.Sprintf("did you mean %q?", near)
	case n > most:
		instead = fmt.Sprintf("there are %s and %d more;", strings.Join(a.There[:most], ", "), n-most)
	case n > 0:
		instead = "there is " + strings.Join(a.There, ", ") + ";"
	}
	advice := fmt.Sprintf("--%s names another", a.What)
	switch {
	case f.data != "":
		advice = "name its schema, or another data set with --data"
	case f.keyspace+f.namespace == "":
		advice = fmt.Sprintf("--%s NAME names one in full, --data DIR the data set that a run kept", a.What)
	}
	return fmt.Errorf("%w; %s %s", a, instead, advice)
}
