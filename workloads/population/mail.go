package population

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Mail is the mail of a workload. Lint gets sizes and hot partitions from it.
type Mail struct {
	from         *workloads.Workload
	people       *forecast.Population
	user, folder float64 // shares of operations that the hottest user and the hottest folder get
}

// MailOf draws the mail of a workload.
func MailOf(ctx context.Context, w *workloads.Workload) (*Mail, error) {
	people, err := Of(ctx, w, messages.NewGenerator(w), SampleSize)
	if err != nil {
		return nil, err
	}
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	m := &Mail{from: w, people: people}
	m.user, m.folder, err = plan.Hottest(ctx, w, c)
	return m, err
}

// Numbers returns a schema with the values that the workload sets for its parameters, and sizes its tables for lint on
// every engine that there is a forecast for.
func (m *Mail) Numbers(s *schemas.Schema, engines []drivers.Engine) (*schemas.Schema, *lint.Numbers, error) {
	s, err := s.With(m.from.ValuesOf(s.Name))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range engines {
		if e.Name != s.Native || e.Forecast == nil { // other engines may be unable to hold the schema
			continue
		}
		if _, err := e.Forecast(s); err != nil {
			return nil, nil, fmt.Errorf("schema %s on %s: %w", s.Name, e.Name, err)
		}
	}
	n, err := lint.NumbersOf(s, m.people, drivers.FactsOf(engines, s))
	if err != nil {
		return nil, nil, err
	}
	n.Workload, n.Hottest.User, n.Hottest.Folder = m.from.Name, m.user, m.folder
	return s, n, nil
}
