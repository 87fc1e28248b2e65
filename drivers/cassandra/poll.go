package cassandra

import (
	"context"
	"time"
)

// pollInterval is the time between two checks of a condition of the cluster.
const pollInterval = 20 * time.Millisecond

// poll checks a condition until it holds.
func poll(ctx context.Context, holds func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
