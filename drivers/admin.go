package drivers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Admin lists and drops namespaces. Every store of a Remote engine is one. It
// lists and drops only namespaces with mailbench's prefix and mark, and refuses
// to drop any other with ErrForeign.
type Admin interface {
	// Namespaces lists the namespaces of all runs on the engine, also those
	// that killed runs left, with what the engine reports about them.
	Namespaces(ctx context.Context) ([]Namespace, error)
	// Drop removes the namespace that the store was opened with: every schema
	// applied in it, with all data, and nothing else. It returns what it leaves on the
	// engine's disks and how that is removed, or "".
	Drop(ctx context.Context) (left string, err error)
}

// Namespace is what an engine reports about a namespace of mailbench's.
type Namespace struct {
	Name   string    `json:"namespace"`
	Tables int       `json:"tables,omitempty"` // 0: not reported
	Bytes  *int64    `json:"bytes,omitempty"`  // on the disk of the node that answered; nil: not reported
	Since  time.Time `json:"since,omitzero"`   // when it was made; zero: not reported
}

// Time limits of calls to a cluster. Opening a store sends some 20 requests, which a cluster that many
// others make tables on took over half a minute to answer. HBase drops tables one by one and takes a
// second or two for each.
const (
	reachAtMost = time.Minute
	dropAtMost  = 2 * time.Minute
)

// Reach opens a store of a Remote engine within a bounded time. If no node
// answers, the error names the address and says what to do.
func (e Engine) Reach(ctx context.Context, o Options) (st Store, err error) {
	where := "on this machine"
	if len(o.Contact) > 0 {
		where = "at " + strings.Join(o.Contact, ", ")
	}
	err = Within(ctx, reachAtMost, func(ctx context.Context) (err error) {
		st, err = e.Open(ctx, o)
		return err
	})
	switch {
	case errors.Is(err, ErrUnreachable):
		start := cmp.Or(e.Server, fmt.Sprintf("\"mailbench engine up %s\" starts one on this machine", e.Name))
		return nil, fmt.Errorf("%s cannot be reached %s: %w; %s, --contact HOST names another", e.Name, where, err, start)
	case err != nil:
		return nil, fmt.Errorf("open %s %s: %w", e.Name, where, err)
	}
	return st, nil
}

// Namespaces lists the namespaces on a store's engine by their names, in a bounded time.
func Namespaces(ctx context.Context, st Store) (all []Namespace, err error) {
	err = withAdmin(ctx, st, reachAtMost, func(ctx context.Context, a Admin) (err error) {
		all, err = a.Namespaces(ctx)
		return err
	})
	slices.SortFunc(all, func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Drop drops a store's namespace, in a bounded time.
func Drop(ctx context.Context, st Store) (left string, err error) {
	err = withAdmin(ctx, st, dropAtMost, func(ctx context.Context, a Admin) (err error) {
		left, err = a.Drop(ctx)
		return err
	})
	return left, err
}

func withAdmin(ctx context.Context, st Store, most time.Duration, do func(context.Context, Admin) error) error {
	a, ok := st.(Admin)
	if !ok {
		return fmt.Errorf("%s has no namespaces to list or drop", st.Capabilities().Engine)
	}
	return Within(ctx, most, func(ctx context.Context) error { return do(ctx, a) })
}

// Within calls do with a time limit. If do returns an error after the limit, Within adds
// the limit to it.
func Within(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("not done within %v: %w", most, err)
	}
	return err
}

// Pause waits for so long, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() // also where a busy machine let both happen
}

// Describer is a store that can print the statements that would create existing tables. It only
// reads.
type Describer interface {
	// Describe returns the statements of a keyspace, which need not be mailbench's.
	Describe(ctx context.Context, keyspace string) (string, error)
	// Prepared returns the statements that clients of a keyspace have prepared on the node that answers,
	// a line each.
	Prepared(ctx context.Context, keyspace string) (string, error)
}
