// Package describe shows a model, or a schema file, as a mail architect wants to read it: its
// tables, its access patterns and what they become on each engine. As text and as JSON.
package describe

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
)

// Description is what there is to say of one model.
type Description struct {
	schema  *schemas.Schema
	engines []compiled
	calls   bool
	labels  map[*schemas.Pattern]string
}

type compiled struct {
	engine  string
	compile drivers.Compiler
}

// Make describes a schema on the engines. The text shows the calls of engines if calls is set. If
// not, it only shows which patterns an engine cannot run as they are. JSON always has the calls.
func Make(s *schemas.Schema, engines []drivers.Engine, calls bool) (*Description, error) {
	d := &Description{schema: s, calls: calls, labels: make(map[*schemas.Pattern]string)}
	for _, e := range engines {
		compile, err := e.Compile(s, drivers.Options{})
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", e.Name, err)
		}
		d.engines = append(d.engines, compiled{e.Name, compile})
	}
	if len(s.Workflow) > 0 {
		for _, q := range diagram.Queries(s) {
			d.labels[q.Pattern] = q.Label
		}
	}
	return d, nil
}
