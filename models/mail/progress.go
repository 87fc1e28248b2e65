package mail

import (
	"context"
	"sync/atomic"
)

// Progress is how far Open is. Another goroutine may read it meanwhile.
type Progress struct {
	Copied atomic.Int64 // messages of which the end was found
	At     atomic.Int64 // number of the message that is parsed, from 1; 0: the file is still copied
}

type progressKey struct{}

// WithProgress returns a context with which Open tells how far it is.
func WithProgress(ctx context.Context, p *Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

func progressOf(ctx context.Context) *Progress {
	if p, ok := ctx.Value(progressKey{}).(*Progress); ok {
		return p
	}
	return new(Progress)
}
