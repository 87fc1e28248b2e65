package cmd

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
)

// checkModels checks what a workload says of models. They are those of the registry, and the
// schemas given, which may come from files.
func (r registry) checkModels(w *workloads.Workload, read ...*schemas.Schema) error {
	if len(w.Models) == 0 && w.Sweep == nil {
		return nil
	}
	for _, m := range r.models {
		s, err := m.Schema()
		if err != nil {
			return err
		}
		read = append(slices.Clip(read), s)
	}
	known := map[string][]workloads.Parameter{}
	for _, s := range read {
		if _, ok := known[s.Name]; ok {
			continue
		}
		known[s.Name] = []workloads.Parameter{}
		for _, q := range s.Parameters {
			known[s.Name] = append(known[s.Name], workloads.Parameter{Name: q.Name, Check: q.Check, Words: q.Words})
		}
	}
	if err := w.CheckModels(known); err != nil {
		return usage(err)
	}
	return nil
}

// parameterKeys are the keys by which a workload sets the parameters of models.
func (r registry) parameterKeys() (keys []string) {
	for _, m := range r.models {
		s, err := m.Schema()
		if err != nil {
			continue // whoever runs the model is told
		}
		for _, q := range s.Parameters {
			keys = append(keys, "models."+m.Name+"."+q.Name+"=")
		}
	}
	return keys
}
