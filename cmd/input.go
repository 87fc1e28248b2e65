package cmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// workloadFlags change a workload: single values of it, and where its engine is.
type workloadFlags struct {
	set, contact []string
}

func (f *workloadFlags) bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.set, "set", nil, "change one value of the workload: `KEY=VALUE`, such as population.users=10 or engines.cassandra.consistency=ONE")
	flags.StringSliceVar(&f.contact, "contact", nil, "`HOST[:PORT]`,… of the engine that is reached over the network (default: this machine)")
}

// workload reads a file if the name looks like one, else a bundled workload, and
// checks what it says of engines. More overrides go behind those of --set.
func (f *workloadFlags) workload(engines []drivers.Engine, name string, more ...string) (*workloads.Workload, error) {
	w, err := readWorkload(name, slices.Concat(f.set, more))
	if err != nil {
		return nil, err
	}
	if err := w.CheckEngines(engineWords(engines)); err != nil {
		return nil, usage(err)
	}
	return w, nil
}

func readWorkload(name string, overrides []string) (*workloads.Workload, error) {
	if !strings.ContainsAny(name, `./\`) {
		w, err := workloads.Bundled(name, overrides...)
		if err != nil {
			return nil, usage(err)
		}
		return w, nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, missing(fmt.Errorf("read workload: %w", err))
	}
	w, err := workloads.Parse(name, src, overrides...)
	if err != nil {
		return nil, usage(err)
	}
	return w, nil
}

// engineWords are what a workload may say of the engines.
func engineWords(engines []drivers.Engine) map[string]workloads.EngineWords {
	known := map[string]workloads.EngineWords{}
	for _, e := range engines {
		known[e.Name] = workloads.EngineWords{Remote: e.Remote, Settings: settingNames(e.Settings), Environment: settingNames(e.Environment)}
	}
	return known
}

func settingNames(settings []drivers.Setting) []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.Name
	}
	return names
}

// contact puts the addresses of --contact into the workload, for the one engine
// of those that run which is reached over the network.
func contact(w *workloads.Workload, engines []drivers.Engine, addresses []string) error {
	if len(addresses) == 0 {
		return nil
	}
	for _, a := range addresses {
		if err := workloads.CheckContact(a); err != nil {
			return usagef("--contact: %w", err)
		}
	}
	var remote []string
	for _, e := range engines {
		if e.Remote {
			remote = append(remote, e.Name)
		}
	}
	given := strings.Join(addresses, ",")
	switch len(remote) {
	case 0:
		return usagef("--contact %s: none of the engines named is reached over the network; name one with --engine", given)
	case 1:
	default:
		return usagef("--contact %s: which of %s is there? say it for each with --set engines.NAME.contact=HOST",
			given, strings.Join(remote, ", "))
	}
	e := w.Engines[remote[0]]
	if e == nil {
		e = &workloads.Engine{}
		w.Engines[remote[0]] = e
	}
	e.Contact = addresses
	return nil
}

func openMail(ctx context.Context, path string) (messages.Source, error) {
	source, err := messages.Open(ctx, path, "")
	if err != nil {
		return nil, missing(err)
	}
	return source, nil
}
