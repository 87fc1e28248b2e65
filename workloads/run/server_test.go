package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// server is an engine that is reached over the network, as the runner sees it:
// the embedded one, with namespaces as folders, and faults of a network.
type server struct {
	dir string

	mu     sync.Mutex
	opened []drivers.Options
	made   map[string]bool // namespaces that something was made in
	// fault, if set, is called before each request: the error that the caller gets,
	// and whether the request is executed all the same.
	fault func(write bool) (err error, applied bool)
	down  bool        // Open finds no server
	stuck error       // of Drop
	hole  atomic.Bool // calls get no answer
	// applying, if set, is called before anything is made.
	applying func() error
	// observing, if set, is called before and after each phase with operations.
	observing func()
}

func newServer(t testing.TB) *server { return &server{dir: t.TempDir(), made: map[string]bool{}} }

func (s *server) engine() drivers.Engine {
	return drivers.Engine{Name: "server", Doc: "for tests", Remote: true, Open: s.open}
}

func (s *server) open(ctx context.Context, o drivers.Options) (drivers.Store, error) {
	s.mu.Lock()
	s.opened = append(s.opened, o)
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, fmt.Errorf("dial %v: %w: connection refused", o.Contact, drivers.ErrUnreachable)
	}
	if o.Namespace == "" {
		return &served{server: s, Store: fakeStore{}}, nil
	}
	path := filepath.Join(s.dir, drivers.Prefix+o.Namespace)
	inner, err := embedded().Open(ctx, drivers.Options{Dir: path})
	if err != nil {
		return nil, err
	}
	return &served{server: s, Store: inner, path: path, namespace: o.Namespace}, nil
}

// namespaces lists what is on the server.
func (s *server) namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.made))
}

// breaks sets the fault while a test's run goes on.
func (s *server) breaks(fault func(write bool) (error, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// call is the fault of one call.
func (s *server) call(write bool) (error, bool) {
	s.mu.Lock()
	f := s.fault
	s.mu.Unlock()
	if f == nil {
		return nil, true
	}
	return f(write)
}

// swallow waits for the end of a call that gets no answer.
func (s *server) swallow(ctx context.Context) error {
	if !s.hole.Load() {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("%w: %w", drivers.ErrUnknown, ctx.Err())
}

// served is one connection to the server.
type served struct {
	drivers.Store
	server          *server
	path, namespace string
}

var _ drivers.Admin = (*served)(nil)

func (s *served) Namespaces(context.Context) (all []drivers.Namespace, err error) {
	for _, name := range s.server.namespaces() {
		all = append(all, drivers.Namespace{Name: name})
	}
	return all, nil
}

func (s *served) Observe() drivers.Observation {
	if s.server.observing != nil {
		s.server.observing()
	}
	return drivers.Observation{ReadBytes: -1}
}

func (s *served) Apply(ctx context.Context, schema *schemas.Schema) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.applying != nil {
		if err := s.server.applying(); err != nil {
			return err
		}
	}
	s.server.made[s.namespace] = true
	return s.Store.Apply(ctx, schema)
}

func (s *served) Drop(ctx context.Context) (string, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.stuck != nil {
		return "", s.server.stuck
	}
	delete(s.server.made, s.namespace)
	return "", errors.Join(ctx.Err(), s.Store.Close(), os.RemoveAll(s.path))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (s *served) Session() (drivers.Session, error) {
	inner, err := s.Store.Session()
	return &servedSession{inner, s.server}, err
}

// servedSession is a session over a network.
type servedSession struct {
	drivers.Session
	server *server
}

func (s *servedSession) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, yield func([]drivers.Value) error) error {
	if err := s.server.swallow(ctx); err != nil {
		return err
	}
	if err, _ := s.server.call(false); err != nil {
		return err
	}
	return s.Session.Read(ctx, st, args, yield)
}

func (s *servedSession) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if err := s.server.swallow(ctx); err != nil {
		return drivers.Result{}, err
	}
	fault, applied := s.server.call(true)
	if !applied {
		return drivers.Result{}, fault
	}
	r, err := s.Session.Write(ctx, st, args)
	if err == nil {
		err = fault
	}
	return r, err
}

func (s *servedSession) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if err := s.server.swallow(ctx); err != nil {
		return err
	}
	fault, applied := s.server.call(true)
	if !applied {
		return fault
	}
	if err := s.Session.Batch(ctx, st, parts); err != nil {
		return err
	}
	return fault
}
