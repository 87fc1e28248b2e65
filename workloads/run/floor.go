package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/subject"
)

// The floor is mailbench's own share of the figures. It is measured on two more targets.
// A mailbox that does nothing shows the harness' own CPU time for an operation. Each model
// over the null engine shows what the model's calls cost without an engine: the null engine
// yields sample rows for the model to decode.

const (
	floorShots      = 3                    // of which the least counts: others met a pause of the machine
	floorOperations = 80_000               // operations of a shot on the mailbox that does nothing
	floorTime       = 2 * time.Millisecond // length of a shot with one operation of a model
	floorMessages   = 16                   // messages in each of the two folders of a model's mailbox
)

// floor measures both. A model takes about half a second.
func (r *runner) floor(ctx context.Context) {
	if r.config.Null == nil || r.config.NoFloor || r.config.Audit == AuditOnly || ctx.Err() != nil {
		return
	}
	add := func(model string, floors []results.Floor, err error) {
		if err != nil && ctx.Err() == nil {
			floors = append(floors, results.Floor{Model: model, Error: err.Error()})
		}
		r.result.Floor = append(r.result.Floor, floors...)
	}
	bare, err := harnessFloor(ctx)
	add("", []results.Floor{bare}, err)
	for _, m := range r.config.Models {
		var floors []results.Floor
		err := crash.Guard(func() (err error) {
			floors, err = r.modelFloor(ctx, m)
			return err
		})
		add(m.Name, floors, err)
	}
}

// harnessFloor is the cost of an operation over a mailbox that does nothing: due
// time, choice of operation and key, two readings of the clock, recording. The
// schedule is always behind, so that nothing waits.
func harnessFloor(ctx context.Context) (results.Floor, error) {
	w, census, err := nothingWorkload(ctx)
	if err != nil {
		return results.Floor{}, err
	}
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "floor", Arrivals: workloads.Constant,
		Rate: workloads.Rate{Count: 1e8, Per: time.Second}, Operations: floorOperations,
		Mix: workloads.Mix{workloads.List: 50, workloads.Counters: 50},
	}
	var least results.Floor
	for range floorShots {
		m, err := drive.Drive(ctx, nothingTarget(census), drive.Spec{
			Phase: phase, Stream: plan.StreamOf(w, &phase, census), Workers: 1, MaxLag: 1000 * time.Hour,
		})
		if err != nil {
			return least, err
		}
		n := float64(max(1, m.Evidence.Started))
		if ns := 1e9 * m.Client.CPUSeconds / n; least.NS == 0 || ns < least.NS {
			least = results.Floor{NS: ns, Allocs: float64(m.Mallocs / uint64(n))}
		}
	}
	return least, nil
}

// nothingWorkload is a workload with users for a mailbox that does nothing.
func nothingWorkload(ctx context.Context) (*workloads.Workload, *plan.Census, error) {
	w := &workloads.Workload{
		Name: "floor", Seed: 1,
		Mail: workloads.Mail{Recipients: random.Constant{Value: 1}},
		Population: workloads.Population{
			Users: 1000, Folders: random.Constant{Value: 1}, Messages: random.Constant{Value: 1},
		},
		Keys: workloads.Keys{Users: random.Keys{Theta: random.DefaultTheta}},
	}
	census, err := plan.NewCensus(ctx, w)
	return w, census, err
}

// nothingTarget is a target whose mailbox does nothing.
func nothingTarget(census *plan.Census) *subject.Target {
	t := &subject.Target{
		Config: subject.Config{Mail: noMail{}}, Store: nothingStore{}, Bound: nothingBound{},
		Dataset: &subject.Dataset{}, Live: &subject.Live{Accounts: make([]subject.Account, census.Users())},
	}
	for i := range t.Live.Accounts {
		t.Live.Accounts[i].Folders = []subject.Folder{{Ref: &models.Folder{}, FolderSet: &subject.FolderSet{}}}
	}
	for op := range t.Offers {
		t.Offers[op] = true
	}
	return t
}

// nothingBound gives mailboxes that do nothing.
type nothingBound struct{}

// Mailbox implements models.Bound.
func (nothingBound) Mailbox(drivers.Session) models.Mailbox { return nothing{} }

type nothing struct{ models.Mailbox }

func (nothing) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	return nil
}

func (nothing) Stats(context.Context, *models.Folder) (models.Stats, error) {
	return models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes}, nil
}

// nothingStore has sessions that can be closed.
type nothingStore struct{ drivers.Store }

func (nothingStore) Session() (drivers.Session, error) { return nothingSession{}, nil }

type nothingSession struct{ drivers.Session }

func (nothingSession) Close() error { return nil }

// noMail has no messages.
type noMail struct{ messages.Source }

func (noMail) Reader() messages.Reader { return nil }

// modelFloor is the cost of the calls of each operation of the workload over the
// null engine, for a few messages of the workload's own mail.
func (r *runner) modelFloor(ctx context.Context, m models.Model) (floors []results.Floor, err error) {
	dir, err := os.MkdirTemp(r.data.path, "floor-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := *r.config.Workload
	w.Population = workloads.Population{
		Users: 1, Folders: random.Constant{Value: 2}, Messages: random.Constant{Value: floorMessages},
	}
	census, err := plan.NewCensus(ctx, &w)
	if err != nil {
		return nil, err
	}
	t, err := subject.Open(ctx, subject.Config{
		Workload: &w, Census: census, Mail: r.source,
		Model: m.With(w.ValuesOf(m.Name)), Engine: *r.config.Null, Options: r.config.Model, Dir: dir, Workers: 1,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close(ctx)) }()
	if _, err := t.Populate(ctx); err != nil {
		return nil, err
	}
	load := workloads.Phase{Kind: workloads.Load, Name: "load", Clients: 1}
	stream, err := census.LoadStream(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := drive.Drive(ctx, t, drive.Spec{Phase: load, Stream: stream}); err != nil {
		return nil, err
	}
	for _, op := range floorOrder() {
		if !t.Offers[op] || !r.measures(op) || ctx.Err() != nil {
			continue
		}
		p := workloads.Phase{
			Kind: workloads.Measure, Name: op.String(), Number: int(op) + 1,
			Arrivals: workloads.Closed, Clients: 1, Duration: floorTime,
		}
		p.Mix[op] = 1
		least := results.Floor{Model: m.Name, Op: p.Name}
		for range floorShots {
			found, err := drive.Drive(ctx, t, drive.Spec{Phase: p, Stream: plan.StreamOf(&w, &p, census)})
			if err != nil {
				return nil, err
			}
			// The null engine's rows are samples, so an operation that fails counts too.
			if n := found.Evidence.Started; n > 0 {
				if ns := float64(found.Busy) / float64(n); least.NS == 0 || ns < least.NS {
					least.NS = ns
				}
			}
		}
		if least.NS > 0 {
			floors = append(floors, least)
		}
	}
	return floors, nil
}

// floorOrder is all operations, the ones that use up messages last.
func floorOrder() []workloads.Op {
	var order []workloads.Op
	last := []workloads.Op{workloads.Move, workloads.Delete, workloads.Restore, workloads.Purge}
	for op := range workloads.Op(workloads.NumOps) {
		if !slices.Contains(last, op) {
			order = append(order, op)
		}
	}
	return append(order, last...)
}

// measures reports whether the workload measures the operation.
func (r *runner) measures(op workloads.Op) bool {
	for i := range r.config.Workload.Phases {
		if p := &r.config.Workload.Phases[i]; p.Kind == workloads.Measure && p.Mix.Has(op) {
			return true
		}
	}
	return false
}
