package hbase

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The pauses before a change of one row is sent again, as gohbase makes them before
// other calls.
const (
	firstPause   = 16 * time.Millisecond
	longestPause = time.Second
)

// backoff spaces out the attempts of one change that HBase refuses for now. All of them,
// and the pauses between, share the timeout of one call.
type backoff struct {
	deadline time.Time
	pause    time.Duration
	attempts int
}

// wait waits after an attempt, twice as long each time, less up to a half by chance, so
// that refused clients do not come back all at once. If there is no time left for
// another attempt it returns the refusal, which says that nothing was applied.
func (b *backoff) wait(ctx context.Context, refused *javaError) error {
	b.attempts++
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	pause := b.pause/2 + rand.N(b.pause/2)
	if time.Until(b.deadline) <= pause {
		return fmt.Errorf("%w (refused %d times, until the timeout)", refused, b.attempts)
	}
	return sleep(ctx, pause)
}
