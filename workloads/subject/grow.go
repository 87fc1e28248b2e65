package subject

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Load holds the messages that a data set lacks. The caller delivers them with drive.Drive
// and then calls Loaded.
type Load struct {
	Stream   plan.Stream
	Messages int64 // messages that the stream delivers
	// Note says in a few words what the load does with an older data set; "" if it is new.
	Note string
}

// complete makes a data set that is there into the one that the workload wants, and returns
// the load that it lacks, or nil. It goes on with an interrupted load or growth, and a
// smaller population grows.
func (t *Target) complete(ctx context.Context) (*Load, error) {
	h, err := t.Dataset.history(t.Dir)
	if err != nil {
		return nil, err
	}
	d := t.Dataset
	if d.Complete && d.Mail == t.wanted.Mail {
		if err := t.note(); err != nil {
			return nil, err
		}
		if err := t.loginAccounts(ctx); err != nil {
			return nil, err
		}
		if err := t.reload(ctx, h); err != nil {
			return nil, err
		}
		return nil, t.findFlags(ctx)
	}
	s, note, err := t.growth(h)
	if err != nil {
		return nil, err
	}
	if err := t.note(); err != nil {
		return nil, err
	}
	if err := t.completeAccounts(ctx, false); err != nil {
		return nil, err
	}
	if err := t.reload(ctx, h); err != nil {
		return nil, err
	}
	if err := t.findOffers(ctx); err != nil {
		return nil, err
	}
	load, err := t.rest(ctx, s)
	if load != nil {
		load.Note = note
	}
	return load, err
}

// growth begins the next step of the data set, or goes on with the one under way.
func (t *Target) growth(h *ledger.History) (s *step, note string, err error) {
	d := t.Dataset
	if last := d.last(); d.Mail != t.wanted.Mail { // another population: a new step
		has := loaded(h, last.end())
		s, err = t.next(t.wanted, t.Census, has)
		return s, growsNote(has, t.Census), err
	}
	s = t.interruptedStep(h)
	if lacks := t.Census.Lacks(&s.Growth); lacks != d.last().Messages {
		return nil, "",
			fmt.Errorf("the ledger in %s belongs to another dataset: the interrupted load has %d messages in it, "+
				"and %s has %d; %s", t.Dir, lacks, datasetFile, d.last().Messages, d.removal())
	}
	return s, fmt.Sprintf("continues a load that was interrupted, with %d of %d messages",
		s.done.n, d.last().Messages), nil
}

// Grow makes the accounts and folders of a larger population that the data set lacks, and
// returns the load of its missing messages, or nil. The data set must be loaded, and no
// phase under way. From then on the target works on that workload, census and source of mail.
//
// The new workload must have the same mail and seed, and no folder may have fewer messages
// than before. plan.Growth says which messages are delivered. If the growth of a kept
// data set is interrupted, Populate goes on with it.
//
//	load, err := t.Grow(ctx, larger, census, source)
//	if err == nil && load != nil {
//		m, err = drive.Drive(ctx, t, drive.Spec{Phase: load phase, Stream: load.Stream, Total: load.Messages})
//		err = t.Loaded()
//	}
func (t *Target) Grow(
	ctx context.Context, to *workloads.Workload, census *plan.Census, source messages.Source,
) (*Load, error) {
	if !t.Dataset.Complete {
		return nil, fmt.Errorf("the data set of %s on %s cannot grow: it is not loaded to the end",
			t.Model.Name, t.Engine.Name)
	}
	want, open := t.dataset(to, source), *t.Dataset
	open.Closed = true // this run was not killed
	if err := open.fits(want, t.Dir); err != nil {
		return nil, err
	}
	has := countsOf(t.Census)
	if t.Acknowledged != nil {
		h, err := t.Dataset.history(t.Dir)
		if err != nil {
			return nil, err
		}
		has = loaded(h, t.Dataset.last().end())
	}
	s, err := t.next(want, census, has)
	if err != nil {
		return nil, err
	}
	t.Workload, t.Census, t.Mail, t.wanted = to, census, source, want
	if err := t.note(); err != nil {
		return nil, err
	}
	t.Live.extend(census.Users())
	t.remember()
	if err := t.completeAccounts(ctx, false); err != nil {
		return nil, err
	}
	if err := t.findFlags(ctx); err != nil {
		return nil, err
	}
	load, err := t.rest(ctx, s)
	if load != nil {
		load.Note = growsNote(has, census)
	}
	return load, err
}

func growsNote(has counts, census *plan.Census) string {
	return fmt.Sprintf("grows from %d to %d messages", has.sum(), census.Messages())
}

// rest returns the load of what a step has yet to deliver. If that is nothing, it marks the
// data set as complete and returns nil.
func (t *Target) rest(ctx context.Context, s *step) (*Load, error) {
	messages := t.Census.Lacks(&s.Growth) - s.done.n
	if messages == 0 {
		return nil, t.Loaded()
	}
	stream, err := t.Census.GrowthStream(ctx, &s.Growth)
	if err != nil {
		return nil, err
	}
	return &Load{Stream: stream, Messages: messages}, nil
}

// onThisMachine reports whether a node of the engine runs on this machine: it then
// competes with the generator for processors. No address means loopback.
func onThisMachine(ctx context.Context, e *workloads.Engine) bool {
	if e == nil || len(e.Contact) == 0 {
		return true
	}
	const lookupAtMost = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, lookupAtMost)
	defer cancel()
	for _, contact := range e.Contact {
		host, _, err := net.SplitHostPort(contact)
		if err != nil {
			host = strings.Trim(contact, "[]")
		}
		// The driver has a better error for a name that cannot be resolved.
		addresses, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
		for _, a := range addresses {
			if a.IP.IsLoopback() || isOwn(a.IP) {
				return true
			}
		}
	}
	return false
}

// isOwn reports whether an address is one of this machine's.
func isOwn(ip net.IP) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
