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
	wanted *Dataset // the data set that the workload wants; nil if the folder had none
	kept   bool

	readBefore int64 // bytes that Processes had read from disk when the store was opened, or -1
}

// settleAtMost is how long a store may take to come to rest.
const settleAtMost = 5 * time.Minute

// Settle waits until the store is at rest. quiet is false if that took longer than
// settleAtMost, or if the store does not report it.
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
		CPU:        int64(drivers.ProcessorTime(t.Processes...)),
		Tombstones: s.Tombstones, TombstonesRead: s.TombstonesRead,
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
	h, err := ledger.ReadHistory(t.ledgerName())
	if errors.Is(err, ledger.ErrUnfit) {
		found.Fault = err.Error()
		return &found, nil
	} else if err != nil {
		return nil, err
	}
	if err := t.Dataset.lacking(h); err != nil { // the messages that it does have are compared
		found.Fault = err.Error()
	}
	err = t.withMailbox(func(mb models.Mailbox) error {
		a := ledger.Auditor{
			Found: found, Mailbox: mb, Promise: t.Dataset.Promise, History: h, Remote: t.Engine.Remote,
			Later: t.Dataset.Interrupted, Whole: t.Dataset.Of == 0,
			Rows: t.auditRows, Address: plan.Address, Folder: func(_, f int) string { return plan.FolderName(f) },
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

// auditRows verifies the rows of the store.
func (t *Target) auditRows(ctx context.Context) (found models.Audit, err error) {
	folder, err := scratch.Temporary()
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	return audit.Verify(ctx, t.Store, t.Schema, validate.Config{Dir: folder.Path()})
}

// Step is the first load of a data set, or one growth. The rest of a load that was interrupted is a step of its own.
type Step struct {
	Messages int64 `json:"messages"`          // messages that it delivers
	Planned  int64 `json:"planned,omitempty"` // messages that it was to deliver before it was interrupted; 0: it was not
	Users    int   `json:"users"`             // users and folders of the population afterwards
	Folders  int   `json:"folders"`
}

// last is the step that ended last, or is under way.
func (d *Dataset) last() *Step { return &d.Steps[len(d.Steps)-1] }

// begin adds a step that leads to the census.
func (d *Dataset) begin(g *plan.Growth, c *plan.Census) {
	d.Complete = false
	d.Steps = append(d.Steps, Step{Messages: c.Lacks(g), Users: c.Users(), Folders: c.Folders()})
}

// next begins another step, from the messages that the folders have to those of a census.
// It returns an error and changes nothing if the census has less.
func (t *Target) next(want *Dataset, census *plan.Census, has loads) (*Load, error) {
	d := t.Dataset
	shrinks := func(format string, args ...any) error {
		return fmt.Errorf("the data set in %s can grow, but not shrink: %s; %s or name another",
			t.Dir, fmt.Sprintf(format, args...), d.removal())
	}
	var kept, all int64
	for u := range census.Users() {
		for f := range census.FolderCount(u) {
			n, most := has.of(u, f), census.FolderMessages(u, f)
			if n > most {
				return nil, shrinks("folder %s of %s was loaded with %d messages, and the workload has %d",
					plan.FolderName(f), plan.Address(u), n, most)
			}
			kept, all = kept+int64(n), all+int64(most)
		}
	}
	if kept < has.messages {
		return nil, shrinks("it has %d messages in folders which the workload's population does not have", has.messages-kept)
	}
	l := &Load{Note: fmt.Sprintf("grows from %d to %d messages", has.messages, census.Messages())}
	if !d.Complete {
		if n := len(d.Steps); n > 0 {
			last := d.last()
			last.Planned, last.Messages = last.Messages, max(0, has.messages-d.messages(n-1))
		}
		l.Note = fmt.Sprintf("continues a load that was interrupted, with %d of %d messages", has.messages, census.Messages())
	}
	l.growth = plan.Growth{Step: len(d.Steps), First: has.next, Has: has.of}
	if step := len(d.Steps); step > 0 && d.Of > 0 {
		// Other segments have the numbers that follow: each has a range of its own.
		l.growth.First = uint64((step-1)*d.Of+d.Segment) * uint64(all)
	}
	d.begin(&l.growth, census)
	d.Workload, d.Mail = want.Workload, want.Mail
	return l, nil
}

// loads are the messages that loads and growths have delivered.
type loads struct {
	in       map[ledger.Place]int // by folder; one that is not in it has none
	messages int64
	next     uint64 // number of the next message
}

// of returns how many messages of a folder were delivered.
func (l *loads) of(user, folder int) int {
	return l.in[ledger.Place{Account: uint32(user), Folder: uint16(folder)}]
}

// loaded counts a ledger's deliveries of loads. Those of unknown outcome count: a load does not try them again.
func loaded(h *ledger.History) loads {
	l := loads{in: map[ledger.Place]int{}}
	for d := range h.Deliveries {
		if plan.OfLoad(d.N) {
			l.in[d.Place]++
			l.messages++
			l.next = max(l.next, d.N+1)
		}
	}
	return l
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
	if t.Live.keepAttached {
		return t.findAttached(ctx, h)
	}
	return nil
}

// findAttached remembers the newest messages of each folder with attachments. A ledger does not say which messages have
// some: the mail of loads is made again.
func (t *Target) findAttached(ctx context.Context, h *ledger.History) error {
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
