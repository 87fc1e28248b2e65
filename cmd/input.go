package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/results"
)

// workloadFlags change single values of a workload, and where its engine is.
type workloadFlags struct {
	set, contact []string
	engineIn     string // the workload that says where the engine is and how it is reached; "": the default one

	// text and textName are the workload of a repeated run and its file name. They are empty if
	// the command line names the workload.
	text     []byte
	textName string
}

func (f *workloadFlags) bind(flags *pflag.FlagSet) {
	f.bindSet(flags)
	bindList(flags, &f.contact, "contact", "",
		"addresses `HOST[:PORT]`,… of the engine on the network (default: this machine)")
}

func (f *workloadFlags) bindSet(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.set, "set", nil,
		"change one value of the workload: `KEY=VALUE`, such as population.users=10")
}

// bindEngine binds the flags of a command that only reaches an engine.
func (f *workloadFlags) bindEngine(flags *pflag.FlagSet) {
	flags.StringVar(&f.engineIn, "workload", results.DefaultWorkload,
		"`WORKLOAD` or file with the address and settings of the engine")
	f.bind(flags)
	engineSet(flags)
}

// setOfEngine says what --set is for in commands that only reach an engine.
const setOfEngine = "change one setting of the engine: `KEY=VALUE`, such as engines.cassandra.consistency=ONE"

func engineSet(flags *pflag.FlagSet) { flags.Lookup("set").Usage = setOfEngine }

// workload reads the workload with all overrides, and checks its names against those that are known. It is a file if
// the name looks like one, else a bundled workload. The overrides in more are applied after those of --set.
func (f *workloadFlags) workload(
	known workloads.Known, name string, more ...string,
) (w *workloads.Workload, err error) {
	overrides := slices.Concat(f.set, more)
	switch {
	case f.text != nil:
		w, err = workloads.Parse(f.textName, f.text, overrides...)
	case !strings.ContainsAny(name, `./\`):
		w, err = workloads.Bundled(name, overrides...)
	default:
		src, rerr := readText("workload", name, noWorkload)
		if rerr != nil {
			return nil, rerr
		}
		w, err = workloads.Parse(name, src, overrides...)
	}
	if err == nil {
		err = w.Check(known)
	}
	return w, usage(err)
}

// noWorkload is what to do if there is no file that is named as a workload.
const noWorkload = "name a workload file, a schema file, or a workload that \"mailbench workloads\" lists"

// readText reads a file that the user names. The hint says what to do if there is none.
func readText(what, file, hint string) ([]byte, error) {
	text, err := plainfile.Read(file, mostText)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if err != nil {
		return nil, missing(fmt.Errorf("read %s: %w", what, err))
	}
	return text, nil
}

// reach returns the workload that says where an engine is and how it is reached.
func (f *workloadFlags) reach(known registry, e drivers.Engine) (*workloads.Workload, error) {
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return nil, err
	}
	return f.workload(known.engineWords(), cmp.Or(f.engineIn, results.DefaultWorkload), more...)
}

// engineWords are the names that workloads may have of engines and their settings.
func (r registry) engineWords() workloads.Known {
	known := workloads.Known{Engines: map[string]workloads.EngineWords{}}
	names := func(all []drivers.Setting) []string {
		return mapped(all, func(s drivers.Setting) string { return s.Name })
	}
	for _, e := range r.engines {
		known.Engines[e.Name] = workloads.EngineWords{
			Remote: e.Remote, Settings: names(e.Settings), Environment: names(e.Environment),
		}
	}
	return known
}

// words are the names that workloads may have of engines and of models. Schemas that were read from files count as
// models, in place of those of the same name.
func (r registry) words(read ...*schemas.Schema) workloads.Known {
	known := r.engineWords()
	known.Models = map[string][]workloads.Parameter{}
	var all []*schemas.Schema
	for _, m := range r.models {
		if s, err := m.Schema(); err == nil { // the run of the model reports an error
			all = append(all, s)
		}
	}
	for _, s := range append(all, read...) {
		known.Models[s.Name] = mapped(s.Parameters, func(q *schemas.Parameter) workloads.Parameter {
			return workloads.Parameter{Name: q.Name, Check: q.Check, Words: q.Words}
		})
	}
	return known
}

// contactOverride is the override for --contact. It sets the addresses of the only remote engine
// of the run. Without the flag there is none.
func contactOverride(engines []drivers.Engine, addresses []string) ([]string, error) {
	if addresses == nil {
		return nil, nil
	}
	if len(addresses) == 0 {
		return nil, usagef("--contact names no node; expected addresses such as 10.0.0.1,10.0.0.2:9042")
	}
	quoted := make([]string, len(addresses))
	for i, a := range addresses {
		if err := workloads.CheckContact(a); err != nil {
			return nil, usagef("--contact: %w", err)
		}
		quoted[i] = strconv.Quote(a)
	}
	remote := namesOf(slices.DeleteFunc(slices.Clone(engines), func(e drivers.Engine) bool { return !e.Remote }))
	given := strings.Join(addresses, ",")
	switch len(remote) {
	case 0:
		return nil, usagef("--contact %s: none of the engines named is reached over the network; name one with --engine",
			given)
	case 1:
		return []string{"engines." + remote[0] + ".contact=[" + strings.Join(quoted, ", ") + "]"}, nil
	}
	return nil, usagef("--contact %s: the engine is ambiguous (%s); set the address of each with --set engines.NAME.contact=HOST",
		given, strings.Join(remote, ", "))
}

// mailHint is how long mail may be read until a line says so, and how long until the next.
var mailHint = 5 * time.Second

// openMail opens a mail file. It fails if the messages have more than most bytes. If that takes
// long, as with mail that is made to be slow, it notes which message it reads.
func openMail(ctx context.Context, notes io.Writer, path string, most strict.Size) (messages.Source, error) {
	var p mail.Progress
	began, stop := time.Now(), make(chan struct{})
	var hints sync.WaitGroup
	hints.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(mailHint):
			}
			of := fmt.Sprintf("unpacks it, %d messages so far", p.Copied.Load())
			if at := p.At.Load(); at > 0 {
				of = fmt.Sprintf("reads message %d of %d", at, p.Copied.Load())
			}
			fmt.Fprintf(notes, "mailbench: %s: %s (%v)\n", path, of, time.Since(began).Round(time.Second))
		}
	})
	source, err := messages.Open(mail.WithProgress(ctx, &p), path, "", int64(most))
	close(stop)
	hints.Wait()
	if err != nil {
		return nil, missing(err)
	}
	info := source.Info()
	for _, note := range info.Notes.Lines() {
		fmt.Fprintf(notes, "mailbench: %s: %s\n", path, note)
	}
	return source, nil
}

// mostText is how many bytes a workload or schema file may have.
const mostText = 32 << 20
