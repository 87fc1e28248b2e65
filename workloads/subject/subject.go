// Package subject is what a run works on: one model on one engine's store, the data
// set that was loaded into it, and the existing messages that operations choose from.
//
//	t, err := subject.Open(ctx, config)   // store, schema, statements
//	load, err := t.Populate(ctx)         // accounts; what messages the data set lacks
//	err := drive.Drive(ctx, t, …)        // delivers them
//	err = t.Loaded()                     // the data set is complete
//	quiet, err := t.Settle(ctx)
//	err = t.Close(ctx)
package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/scratch"
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
	// Segments, if set, are the segments of the run. They have a namespace of a shared engine
	// in common, which the first makes and drops. The census says which segment this is.
	Segments *meet.Segments
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
	// Lacks says which operations the model does not support.
	Lacks [workloads.MaxOps]bool
	// LacksFlag says which flags of the workload the model does not store.
	LacksFlag [workloads.NumMarks]bool
	// NotOffered says why the model cannot store the workload's dataset, or "".
	NotOffered string
	// SameMachine: the engine runs on this machine, in processes of its own.
	SameMachine bool
	// Large bounds the bytes of large messages that operations hold.
	Large Budget
	// Left says what could not be removed from a shared engine, and how to remove it, or "".
	Left string

	reused bool
	kept   bool

	readBefore int64 // bytes that Processes had read from disk when the store was opened, or -1
}

// Settle waits until the store is at rest. quiet is false if that took longer than
// 5 minutes, or if the store does not report it.
func (t *Target) Settle(ctx context.Context) (quiet bool, err error) {
	s, ok := t.Store.(drivers.Settler)
	if !ok {
		return true, nil
	}
	err = drivers.Within(ctx, 5*time.Minute, s.Settle)
	switch {
	case err == nil || ctx.Err() != nil:
		return true, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, drivers.ErrUnreported):
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
	if err = s.Cool(ctx); errors.Is(err, errors.ErrUnsupported) {
		return err.Error(), nil
	} else if err != nil {
		err = fmt.Errorf("drop the caches of %s: %w", t.Engine.Name, err)
	}
	return "", err
}

// Sleep gives back the memory and the files that the target needs only while phases run. A store that
// is a drivers.Sleeper must wake before the next phase.
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

// Observe returns the engine's state. Values that the engine does not report are negative.
func (t *Target) Observe() *results.EngineInfo {
	s := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
	}
	if o, ok := t.Store.(drivers.Observer); ok {
		s = o.Observe()
	}
	if now := drivers.DiskReads(t.Processes...); s.ReadBytes < 0 && t.readBefore >= 0 && now >= t.readBefore {
		s.ReadBytes = now - t.readBefore // they are fewer than before if a node has restarted
	}
	if s.Settings == nil {
		s.Settings = make(map[string]string)
	}
	maps.Copy(s.Settings, drivers.JavaOptions(t.Processes...))
	if s.DiskBytes >= 0 {
		s.DiskBytes += scratch.Size(BlobsDir(t.Dir))
	}
	return &results.EngineInfo{
		Version: t.Caps.Version, DiskBytes: s.DiskBytes, DiskExcess: s.DiskExcess, LogBytes: s.LogBytes,
		CacheBytes: s.CacheBytes, CompactionDebt: s.CompactionDebt, WrittenBytes: s.WrittenBytes, ReadBytes: s.ReadBytes,
		CPU: int64(drivers.ProcessorTime(t.Processes...)), Tombstones: s.Tombstones, TombstonesRead: s.TombstonesRead,
		Missing: s.Missing, Settings: s.Settings,
	}
}

// Audit compares the store with the ledger; nil if the configuration has no ledger. An audit that
// cannot know what was acknowledged, or cannot read a damaged store, says so in Fault.
func (t *Target) Audit(ctx context.Context) (*results.Audit, error) {
	if !t.Config.Ledger || t.Caps.Discards || t.NotOffered != "" {
		return nil, nil
	}
	found := results.Audit{Model: t.Model.Name, Engine: t.Engine.Name}
	h, err := ledger.ReadHistory(filepath.Join(t.Dir, ledgerFile))
	if errors.Is(err, drivers.ErrCorrupt) {
		found.Fault = err.Error()
		return &found, nil
	} else if err != nil {
		return nil, err
	}
	if err := t.Dataset.lacking(h); err != nil { // the messages that it does have are compared
		found.Fault = err.Error()
	}
	rows := func(ctx context.Context) (found models.Audit, err error) {
		folder, err := scratch.Temporary()
		if err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, folder.Remove()) }()
		return audit.Verify(ctx, t.Store, t.Schema, validate.Config{Dir: folder.Path})
	}
	err = t.withMailbox(func(mb models.Mailbox) error {
		a := ledger.Auditor{
			Found: found, Mailbox: mb, Promise: t.Dataset.Promise, History: h, Remote: t.Engine.Remote,
			Later: t.Dataset.Interrupted, Whole: t.Dataset.Of == 0, Rows: rows,
		}
		err := a.Audit(ctx)
		found = a.Found
		return err
	})
	switch {
	case errors.Is(err, drivers.ErrCorrupt):
		found.Fault, err = err.Error(), nil
	case err != nil:
		found.Error = err.Error()
	}
	return &found, err
}

// reload fills the live set from the ledger of the runs before.
func (t *Target) reload(ctx context.Context, h *ledger.History) error {
	for i := range h.Entries {
		e := &h.Entries[i]
		u, n := int(e.Place.Account), int(e.Place.Folder)
		if u >= len(t.Live.Accounts) || n >= len(t.Live.Accounts[u].Folders) {
			return fmt.Errorf("the ledger in %s is not of this data set: it names folder %d of account %d, which the population "+
				"does not have", t.Dir, n, u)
		}
		if e.State == ledger.Live && !e.Labeled {
			t.Live.Add(t.Live.Accounts[u].Folders[n].FolderSet, e.Handle, nil, e.Held.Holding())
		}
	}
	if !t.Live.keepAttached {
		return nil
	}
	// The newest messages of each folder with attachments. A ledger does not say which messages have some: the mail of
	// loads is made again.
	reader, m := t.Mail.Reader(), new(mail.Message)
	for i := len(h.Entries) - 1; i >= 0; i-- {
		e := &h.Entries[i]
		f := t.Live.Accounts[e.Place.Account].Folders[e.Place.Folder].FolderSet
		if e.State != ledger.Live || e.Labeled || !plan.OfLoad(e.N) || len(f.attached) == attachedMost {
			continue
		}
		if err := cmp.Or(ctx.Err(), reader.Message(e.N, time.Time{}, m)); err != nil {
			return fmt.Errorf("message %d of the data set: %w", e.N, err)
		}
		if len(m.Attachments) > 0 {
			one := attached{e.Handle, strings.Clone(m.Attachments[0].Name)} // the message's bytes are its reader's
			f.attached = slices.Insert(f.attached, 0, one)
		}
	}
	return nil
}
