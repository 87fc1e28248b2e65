package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
)

// applyAtMost is how long an engine may take to make all tables of a schema. An
// HBase makes them one by one, in a second or two each.
const applyAtMost = 3 * time.Minute

// Reach opens an engine that is reached over the network as the workload says,
// with the namespace named. The error says what to do if nobody answers.
func Reach(ctx context.Context, e drivers.Engine, w *workloads.Workload, o drivers.Options) (drivers.Store, error) {
	if said := w.Engines[e.Name]; said != nil {
		o.Contact, o.Settings = said.Contact, said.Settings
	}
	return e.Reach(ctx, o)
}

// reach tries all engines that are reached over the network, before the first
// cell spends time on its load.
func (r *runner) reach(ctx context.Context) error {
	for _, e := range r.config.Engines {
		if !e.Remote {
			continue
		}
		s, err := Reach(ctx, e, r.config.Workload, drivers.Options{Durability: r.config.Durability})
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return fmt.Errorf("close %s: %w", e.Name, err)
		}
	}
	return nil
}

// open opens the store and binds the model, and finds out what it offers.
func (c *cell) open(ctx context.Context) (err error) {
	if c.schema, err = c.model.Schema(); err != nil {
		return fmt.Errorf("schema of %s: %w", c.model.Name, err)
	}
	if err := os.MkdirAll(c.path, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := c.openDataset(); err != nil {
		return err
	}
	if err := c.openStore(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	c.caps = c.store.Capabilities()
	if err := c.claim(ctx); err != nil {
		return err
	}
	if err := drivers.Within(ctx, applyAtMost, func(ctx context.Context) error { return c.store.Apply(ctx, c.schema) }); err != nil {
		return fmt.Errorf("apply schema %s: %w", c.schema.Name, err)
	}
	if err := drivers.Within(ctx, applyAtMost, func(ctx context.Context) (err error) {
		p, err := drivers.PrepareAll(ctx, c.store, c.schema)
		if err == nil {
			c.bound, err = c.model.Bind(ctx, p, c.config.Model)
		}
		return err
	}); err != nil {
		return fmt.Errorf("bind %s to %s: %w", c.model.Name, c.engine.Name, err)
	}
	if c.ledgered() {
		if c.ledger, err = openLedger(c.ledgerName()); err != nil {
			return err
		}
	}
	return c.probe(ctx)
}

func (c *cell) openStore(ctx context.Context) (err error) {
	o := drivers.Options{Durability: c.config.Durability, CacheBytes: c.config.CacheBytes}
	if c.engine.Remote {
		o.Namespace = c.dataset.Namespace
		c.beside = onThisMachine(ctx, c.config.Workload.Engines[c.engine.Name])
		c.store, err = Reach(ctx, c.engine, c.config.Workload, o)
		return err
	}
	o.Dir = filepath.Join(c.path, storeFolder)
	if said := c.config.Workload.Engines[c.engine.Name]; said != nil {
		o.Settings = said.Settings
	}
	if c.store, err = c.engine.Open(ctx, o); err != nil {
		return fmt.Errorf("open %s: %w", c.engine.Name, err)
	}
	return nil
}

// claim writes down which namespace of a shared engine is this data set's,
// before anything is made in it: so the data of a run that is killed is found
// again. One of an earlier run must be there.
func (c *cell) claim(ctx context.Context) error {
	switch {
	case !c.engine.Remote:
		return nil
	case !c.reused:
		return c.dataset.write(c.path)
	}
	names, err := drivers.Namespaces(ctx, c.store)
	if err != nil {
		return fmt.Errorf("list the namespaces of %s: %w", c.engine.Name, err)
	}
	if !slices.Contains(names, c.dataset.Namespace) {
		return fmt.Errorf("the data set in %s is in namespace %s, which this %s does not have; name the cluster it was loaded into, or remove that folder",
			c.path, c.dataset.Namespace, c.engine.Name)
	}
	return nil
}

// newNamespace makes a name that no other run has.
func newNamespace() string { return strings.ToLower(rand.Text()[:16]) }

// close releases the store and the ledger. What was made on a shared engine and
// is not kept is removed, also when ctx has ended.
func (c *cell) close(ctx context.Context) error {
	var err error
	if c.ledger != nil {
		err = c.ledger.close()
		c.ledger = nil
	}
	if c.store != nil {
		if c.engine.Remote && !c.kept {
			c.drop(context.WithoutCancel(ctx))
		}
		if cerr := c.store.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close %s: %w", c.engine.Name, cerr))
		}
		c.store = nil
	}
	return err
}

// drop removes the namespace. If it cannot, the figures are none the worse; the
// result says what was left.
func (c *cell) drop(ctx context.Context) {
	c.progress(Progress{Phase: "drop", Fraction: -1})
	if err := drivers.Drop(ctx, c.store); err != nil {
		c.left = fmt.Sprintf("namespace %s of %s on %s could not be dropped (%v); %q does it",
			c.dataset.Namespace, c.model.Name, c.engine.Name, err, c.dataset.clean())
		return
	}
	if err := os.Remove(filepath.Join(c.path, datasetFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.left = fmt.Sprintf("namespace %s is dropped, but the note of it stays: %v", c.dataset.Namespace, err)
	}
}
