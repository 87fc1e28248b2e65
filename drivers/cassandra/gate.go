package cassandra

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers/plan"
)

// gate counts the calls under way, so that Close can wait for them.
type gate struct{ calls plan.Calls }

// enter begins a call. If it returns no error, the caller must end the call with
// leave.
func (g *gate) enter() error {
	if err := g.calls.Enter(); err != nil {
		return fmt.Errorf("cassandra: %w", err)
	}
	return nil
}

func (g *gate) leave() { g.calls.Leave() }
