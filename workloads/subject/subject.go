package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Config says what to open and where.
type Config struct {
	Workload *workloads.Workload
	Census   *plan.Census
	Mail     messages.Source
	Model    models.Model
	Engine   drivers.Engine
	Options  models.Options

	Dir string // the target's own folder, which it makes
	// EngineOptions are those of the run. The target sets where the data is and what the
	// workload says of the engine.
	EngineOptions drivers.Options

	Keep      bool // the data outlives the run
	Ledger    bool // acknowledged operations are written down, for an audit
	AuditOnly bool // a data set of an earlier run must be there, whatever its state
	Workers   int  // how many accounts are made at once

	// Processes are those of this machine that are a remote engine's nodes; empty: not known.
	Processes []int
	// Namespace is where a new data set is on a shared engine; "": one that no other run has.
	Namespace string
	// Shards, if set, are the shards of the run. They have a namespace of a shared engine
	// in common, which the first makes and drops. The census says which shard this is.
	Shards *meet.Shards

	// Step, if set, is called when a step that takes a while begins: "drop", "audit".
	Step func(name string)
}

// Target is one model on one store. Many workers use it at once. While they do, no field
// changes except what is in Live.
type Target struct {
	Config
	Schema  *schemas.Schema
	Store   drivers.Store
	Caps    drivers.Capabilities
	Bound   models.Bound
	Live    *Live
	Dataset *Dataset
	// Acknowledged is the ledger, or nil if none is kept.
	Acknowledged *ledger.Ledger
	// Offers says which operations the model has.
	Offers [workloads.NumOps]bool
	// LacksFlag says which flags of the workload the model does not store.
	LacksFlag [workloads.NumMarks]bool
	// NotOffered says why the model cannot hold the workload's population, or "".
	NotOffered string
	// Beside: the engine runs on this machine, in processes of its own.
	Beside bool
	// Large bounds the bytes of large messages that operations hold.
	Large Budget

	reused bool
	wanted *Dataset // the data set that the workload wants; nil if the folder had none
	kept   bool
	left   string

	readBefore int64 // bytes that Processes had read from disk when the store was opened, or -1
}

// settleAtMost is how long a store may take to come to rest.
const settleAtMost = 5 * time.Minute

// Settle waits until the store is at rest. quiet is false if that took longer than
// settleAtMost, or if the store cannot tell.
func (t *Target) Settle(ctx context.Context) (quiet bool, err error) {
	s, ok := t.Store.(drivers.Settler)
	if !ok {
		return true, nil
	}
	bounded, cancel := context.WithTimeout(ctx, settleAtMost)
	defer cancel()
	err = s.Settle(bounded)
	switch {
	case err == nil || ctx.Err() != nil:
		return true, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, drivers.ErrUntold):
		return false, nil
	}
	return false, fmt.Errorf("settle %s: %w", t.Engine.Name, err)
}

// Cool reopens the store with empty caches. not says why the engine cannot do that, or is "".
func (t *Target) Cool(ctx context.Context) (not string, err error) {
	s, ok := t.Store.(drivers.Cooler)
	if !ok {
		return t.Engine.Name + " cannot drop its caches", nil
	}
	err = s.Cool(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("drop the caches of %s: %w", t.Engine.Name, err)
	}
	return "", nil
}

// Sleep gives back the memory and the files that the target needs only while phases run. Wake must
// come before the next phase.
func (t *Target) Sleep() error {
	var err error
	if t.Acknowledged != nil {
		err = t.Acknowledged.Sync()
	}
	if s, ok := t.Store.(drivers.Sleeper); ok {
		err = errors.Join(err, s.Sleep())
	}
	return err
}

// Wake ends Sleep.
func (t *Target) Wake() error {
	if s, ok := t.Store.(drivers.Sleeper); ok {
		return s.Wake()
	}
	return nil
}

// Observe returns the engine's state. Figures that the engine does not tell are negative.
func (t *Target) Observe() *results.EngineInfo {
	o, ok := t.Store.(drivers.Observer)
	if !ok {
		return &results.EngineInfo{
			Version: t.Caps.Version, DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1,
			WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		}
	}
	s := o.Observe()
	if now := drivers.DiskReads(t.Processes...); s.ReadBytes < 0 && t.readBefore >= 0 && now >= t.readBefore {
		s.ReadBytes = now - t.readBefore // they are fewer than before if a node has begun anew
	}
	if s.Settings == nil {
		s.Settings = make(map[string]string)
	}
	maps.Copy(s.Settings, drivers.JavaOptions(t.Processes...))
	if s.DiskBytes >= 0 {
		s.DiskBytes += filesIn(BlobsDir(t.Dir))
	}
	return &results.EngineInfo{
		Version: t.Caps.Version, DiskBytes: s.DiskBytes, LogBytes: s.LogBytes, CacheBytes: s.CacheBytes,
		CompactionDebt: s.CompactionDebt, WrittenBytes: s.WrittenBytes, ReadBytes: s.ReadBytes,
		CPU:        int64(drivers.ProcessorTime(t.Processes...)),
		Tombstones: s.Tombstones, TombstonesRead: s.TombstonesRead,
		RowCacheReads: s.RowCacheReads, RowCacheHits: s.RowCacheHits, Missing: s.Missing, Settings: s.Settings,
	}
}

// filesIn is how many bytes the files of a folder and of those in it have; 0 if there is none. Files
// come and go meanwhile.
func filesIn(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// Audit compares the store with the ledger; nil if the configuration asks for no ledger. An audit that
// cannot know what was acknowledged, or cannot read a damaged store, says so in Fault.
func (t *Target) Audit(ctx context.Context) (*results.Audit, error) {
	if !t.Config.Ledger || t.Caps.Discards || t.NotOffered != "" {
		return nil, nil
	}
	found := results.Audit{Model: t.Model.Name, Engine: t.Engine.Name}
	h, err := ledger.ReadHistory(t.ledgerName())
	if errors.Is(err, ledger.ErrUnfit) {
		found.Fault = err.Error()
		return &found, nil
	} else if err != nil {
		return nil, err
	}
	if err := t.Dataset.lacking(h); err != nil { // what it does have is compared
		found.Fault = err.Error()
	}
	a := ledger.Auditor{
		Store: t.Store, Bound: t.Bound, Promise: t.Dataset.Promise, History: h, Remote: t.Engine.Remote, Hold: t.Large.Hold,
		Later: t.Dataset.Interrupted, Whole: t.Dataset.Of == 0,
		Address: plan.Address, Folder: func(_, f int) string { return plan.FolderName(f) },
	}
	fault := found.Fault
	found, err = a.Audit(ctx)
	if errors.Is(err, drivers.ErrCorrupt) {
		fault, err = err.Error(), nil
	}
	if err != nil {
		found.Error = err.Error()
	}
	found.Model, found.Engine, found.Fault = t.Model.Name, t.Engine.Name, cmp.Or(fault, found.Fault)
	return &found, err
}

// Left says what could not be removed from a shared engine, and how to remove it,
// or "".
func (t *Target) Left() string { return t.left }

func (t *Target) step(name string) {
	if t.Step != nil {
		t.Step(name)
	}
}
