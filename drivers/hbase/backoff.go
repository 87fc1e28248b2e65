package hbase

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The first and the longest pause before a change of one row is sent again. gohbase, too,
// begins with 16 ms when it sends other calls again.
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

// wait pauses after a refused attempt. The pause doubles each time, and chance takes off up
// to a half of it, so that refused clients do not come back all at once. If no time is left
// for another attempt, wait returns the refusal, which says that nothing was applied.
func (b *backoff) wait(ctx context.Context, refused *javaError) error {
	b.attempts++
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	pause := b.pause/2 + rand.N(b.pause/2)
	if time.Until(b.deadline) <= pause {
		return fmt.Errorf("%w (refused %d times, until the timeout)", refused, b.attempts)
	}
	return sleep(ctx, pause)
}
