package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/results"
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
	exact               bool   // no operation on the store is known to have been interrupted
}

func (f *storeFlags) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to look at: embedded, cassandra, hbase or oraclenosql")
	flags.StringVar(&f.keyspace, "keyspace", "", "Cassandra: the `KEYSPACE` in full (default: mailbench_SCHEMA)")
	flags.StringVar(&f.namespace, "namespace", "",
		"HBase, Oracle NoSQL: a `NAMESPACE` of the engine; HBase: or the names of tables up to their first dot (default: mailbench_SCHEMA)")
	flags.StringVar(&f.data, "data", "", "the dataset of a run with --data in `DIR`, on any engine")
	flags.StringVar(&f.from, "workload", results.DefaultWorkload, "`WORKLOAD` or file with the address and settings of the engine")
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
	w, err := f.reach(known, e, f.from)
	if err != nil {
		return nil, err
	}
	return subject.Reach(ctx, e, w, o)
}

// pick returns the engine, and checks that the flags fit it.
func (f *storeFlags) pick(known registry) (e drivers.Engine, err error) {
	if e, err = known.engineOf(f.engine, func(*drivers.Engine) bool { return true }); err != nil {
		return e, err
	}
	switch {
	case e.Name == known.floor.Name:
		return e, usagef("--engine %s stores nothing", e.Name)
	case f.keyspace != "" && e.Namespace == "namespace":
		return e, usagef("--keyspace %s: %s has namespaces; name one with --namespace", f.keyspace, e.Name)
	case f.keyspace != "" && e.Namespace != "keyspace":
		return e, usagef("--keyspace %s: %s has no keyspaces", f.keyspace, e.Name)
	case f.namespace != "" && e.Namespace != "namespace":
		return e, usagef("--namespace %s: %s has no namespaces", f.namespace, e.Name)
	case f.data != "" && f.keyspace+f.namespace != "":
		return e, usagef("--data names a data set, so that its keyspace or namespace cannot be named too")
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
	if e.Remote {
		return usagef("--data %s: there is no data set of %s on %s", f.data, schema, e.Name)
	}
	o.Dir = f.data // the folder of the store itself
	return nil
}

// absent adds to an error of a store without the tables that the flags name what is there instead, and which flag
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

// pickModels returns the models of the names given. A name that looks like a file names a schema
// file of a variant. "all" is all models without their variants. It is an error if a schema
// names an engine that does not exist.
func (r registry) pickModels(names []string) ([]models.Model, error) {
	picked := r.models
	if len(names) != 1 || names[0] != "all" {
		known, names := r.models, slices.Clone(names)
		if slices.ContainsFunc(names, func(name string) bool { return !r.isModel(name) }) {
			known = r.withVariants()
		}
		for i, name := range names {
			if !isFile(name) {
				continue
			}
			v, err := r.variant(name)
			if err != nil {
				return nil, err
			}
			names[i] = v.Name
			known = append(slices.DeleteFunc(known, func(m models.Model) bool { return m.Name == v.Name }), v)
		}
		var err error
		if picked, err = pick("model", names, known, func(m models.Model) string { return m.Name }); err != nil {
			return nil, err
		}
	}
	for _, m := range picked {
		s, err := schemaOf(m)
		if err != nil {
			return nil, err
		}
		if err := s.CheckEngines(r.engineNames()); err != nil {
			return nil, fmt.Errorf("schema of model %s: %w", m.Name, err)
		}
	}
	return picked, nil
}

func schemaOf(m models.Model) (*schemas.Schema, error) {
	s, err := m.Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of model %s: %w", m.Name, err)
	}
	return s, nil
}

// isModel reports whether a model that is not a variant has the name.
func (r registry) isModel(name string) bool {
	return slices.ContainsFunc(r.models, func(m models.Model) bool { return m.Name == name })
}

// schemas reads the schemas of the names given: models, or files if a name looks like a file.
// Without names, or with "all", it reads the schemas of all models, but not of their variants.
func (r registry) schemas(names []string) ([]*schemas.Schema, error) {
	if len(names) == 0 || len(names) == 1 && names[0] == "all" {
		names = nil
		for _, m := range r.models {
			names = append(names, m.Name)
		}
	}
	var read []*schemas.Schema
	for _, name := range names {
		s, err := r.schema(name)
		if err != nil {
			return nil, err
		}
		read = append(read, s)
	}
	return read, nil
}

// schema reads the schema of a model, or a schema file if the name looks like one.
func (r registry) schema(name string) (*schemas.Schema, error) {
	if isFile(name) {
		return r.schemaFile(name)
	}
	if name == "all" {
		return nil, usagef("expected one model or schema file, found %q", name)
	}
	if !slices.Contains(r.modelNames(), name) {
		if _, err := os.Stat(name); err == nil {
			return nil, usagef("unknown model %q; the file of that name is ./%s", name, name)
		}
		return nil, usage(unknown("model", name, append(r.modelNames(), "or a file NAME.yaml")))
	}
	models, err := r.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	return schemaOf(models[0])
}

// isFile reports whether a name on the command line looks like a file's.
func isFile(name string) bool { return strings.ContainsAny(name, `./\`) }

// schemaFile reads a schema file. A variant is read with its base: a model's schema, or a file
// whose name is relative to the variant's folder.
func (r registry) schemaFile(file string) (*schemas.Schema, error) {
	if strings.EqualFold(filepath.Ext(file), ".cql") {
		return nil, usagef("%s is CQL; \"mailbench schema lint --cql %s\" checks it, \"schema import\" creates a schema of it", file, file)
	}
	s, err := readSchema(file, func(base string) (*schemas.Schema, error) {
		if !isFile(base) {
			return r.schema(base)
		}
		return readSchema(filepath.Join(filepath.Dir(file), base), func(string) (*schemas.Schema, error) {
			return nil, fmt.Errorf("%s is a variant itself; expected a schema that is not a variant", base)
		})
	})
	if err != nil {
		return nil, err
	}
	if err := s.CheckEngines(r.engineNames()); err != nil {
		return nil, usage(err)
	}
	return s, nil
}

// readSchema reads a schema file. Find returns the base of a variant.
func readSchema(file string, find func(name string) (*schemas.Schema, error)) (*schemas.Schema, error) {
	src, err := plainfile.Read(file, mostText)
	if err != nil {
		return nil, missing(fmt.Errorf("read schema: %w", err))
	}
	s, err := schemas.ParseWith(file, src, find)
	if err != nil {
		return nil, usage(err)
	}
	return s, nil
}

// variant returns the variant of a model that a schema file describes.
func (r registry) variant(file string) (models.Model, error) {
	s, err := r.schemaFile(file)
	if err != nil {
		return models.Model{}, err
	}
	base := schemas.BaseOf(s.Name)
	at := slices.IndexFunc(r.models, func(m models.Model) bool { return m.Name == base })
	if at < 0 {
		return models.Model{}, usagef("%s is the schema %s, which no model runs; expected a variant (\"variant of: "+
			"MODEL\"); \"mailbench models new\" begins a model", file, s.Name)
	}
	return r.models[at].Variant(func() (*schemas.Schema, error) { return r.schemaFile(file) })
}
