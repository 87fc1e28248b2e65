package trace

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

//go:embed trace.yaml
var source []byte

// Workload returns the small workload that shows most patterns. Overrides are those of
// workloads.Parse.
func Workload(overrides ...string) (*workloads.Workload, error) {
	return workloads.Parse("trace.yaml", source, overrides...)
}

// Config says what is traced. The workload says where the engine is. It must have a
// phase settle, since calls are traced from then on.
type Config struct {
	Model    models.Model
	Engine   drivers.Engine
	Workload *workloads.Workload
	Progress func(run.Progress) // or nil
}

// Run loads the workload's population into a namespace or folder of its own, runs its
// operations with one worker, and removes what it made.
func Run(ctx context.Context, c Config) (*Report, error) {
	s, err := c.Model.With(c.Workload.ValuesOf(c.Model.Name)).Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", c.Model.Name, err)
	}
	r := &recorder{prepared: make(map[string]bool), loaded: make(map[string]bool), plans: make(map[string][]string)}
	result, err := run.Run(ctx, run.Config{
		Workload: c.Workload, Models: []models.Model{c.Model}, Engines: []drivers.Engine{r.engine(c.Engine)},
		NoFloor: true, Workers: 1, Hooks: run.Hooks{Progress: c.Progress},
	})
	if err != nil {
		return nil, err
	}
	for i := range result.Cells {
		if cell := &result.Cells[i]; cell.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s on %s, %s: %s", cell.Model, cell.Engine, cell.Phase, cell.Error))
		}
	}
	for _, left := range result.Left {
		err = errors.Join(err, errors.New(left))
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return r.report(c.Model.Name, c.Engine.Name, s), nil
}
