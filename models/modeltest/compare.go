package modeltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/models"
)

// check reads everything: accounts with their folders, numbers and pages, every byte of each message, and the audit.
func (diff *differential) check() {
	for _, a := range diff.accounts {
		c := diff.of(a)
		c.limit = 1000
		for _, op := range []string{"login", "folders", "subscriptions", "totals", "all mail", "nested"} {
			diff.agree(op, c)
		}
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
			diff.checkSearches(f)
			for _, m := range diff.list(f) {
				diff.checkMessage(m)
			}
		}
	}
	diff.checkAudit()
}

// checkFolder compares a folder's numbers and, page by page, its list.
func (diff *differential) checkFolder(f *folder, page int) {
	c := diff.on(f)
	diff.agree("stats", c)
	c.limit = page
	for got := diff.agree("list", c).items; len(got) == page; got = diff.agree("list", c).items {
		c.after = got[page-1].entry.Handle
	}
}

// checkSearches compares what is found of a sender, and from the oldest to the newest message.
func (diff *differential) checkSearches(f *folder) {
	ms := diff.list(f)
	if len(ms) == 0 {
		return
	}
	c := diff.on(f)
	c.limit, c.who, c.since, c.until = 1000, ms[len(ms)/2].From.Address, ms[len(ms)-1].at, ms[0].at
	for _, op := range []string{"by sender in a folder", "by sender everywhere", "slice"} {
		diff.agree(op, c)
	}
}

// checkMessage reads all of a message, and ranges of it: beyond its end, and across the first and the last boundary of
// chunks, which are multiples of randomChunk.
func (diff *differential) checkMessage(m message) {
	c := diff.on(m.in, m)
	for _, op := range []string{"open", "seen by", "raw", "attachment"} {
		diff.agree(op, c)
	}
	for _, p := range m.Attachments {
		c.file = p.Name
		diff.agree("attachment", c)
	}
	size := m.Raw.Size()
	ranges := [][2]int64{{0, 1}, {max(0, size-1), 100}, {size, 5}, {7, size}, {0, 10 * size}}
	if size > randomChunk {
		ranges = append(ranges, [2]int64{randomChunk - 1, 2}, [2]int64{(size-1)/randomChunk*randomChunk - 1, 2})
	}
	for _, r := range ranges {
		c.off, c.n = r[0], r[1]
		diff.agree("range", c)
	}
}

// audit is what a verification of the store must count.
func (r *reference) audit() models.Audit {
	a := models.Audit{Accounts: int64(len(r.accounts))}
	shown := map[uint64]bool{}
	for _, x := range r.accounts {
		a.Deleted += int64(len(x.deleted))
	}
	for b := range r.boxes {
		a.Folders++
		a.Messages += int64(len(b.entries))
		for _, e := range b.entries {
			shown[e.number] = true
		}
	}
	if r.KeepsBodies {
		a.Unreferenced = int64(r.delivered - len(shown))
	}
	return a
}

// checkAudit compares the audit with that of the reference: it must find no fault and count
// the same.
func (diff *differential) checkAudit() models.Audit {
	got, err := diff.got.Audit(diff.ctx)
	diff.must(err, "audit")
	want := diff.audit()
	if !has[models.Purger](diff.got) { // a variant may remove at once what its model keeps
		want.Deleted = 0
	}
	if has[models.Labeler](diff.got) { // a message that several folders show may count once or for each
		want.Messages = got.Messages
	}
	// The number of rows of an orphaned message depends on the model.
	if got.Unreferenced < want.Unreferenced || got.Unreferenced > diff.left && want.Unreferenced == 0 {
		diff.t.Fatalf("audit: %d unreferenced, want %d messages\naudit is %+v", got.Unreferenced, want.Unreferenced, got)
	}
	want.Unreferenced = got.Unreferenced
	if more := countsOf(got).since(countsOf(want)).changes(); more != "" {
		diff.t.Fatalf("audit: %s\naudit is %+v", more, got)
	}
	return got
}

// failed notes what deliveries that failed have left.
func (diff *differential) failed() {
	got, err := diff.got.Audit(diff.ctx)
	diff.must(err, "audit")
	diff.left = got.Unreferenced
}

// counted are the numbers of an audit. Those from firstFault on are faults, which are 0 in an undamaged store.
var counted = [...]string{
	"accounts", "folders", "messages", "deleted", "unreferenced",
	"broken references", "duplicated", "broken bodies", "counter drift",
}

const firstFault = 5

// counts are the numbers of an audit, which == compares at once.
type counts [len(counted)]int64

func countsOf(a models.Audit) counts {
	return counts{
		a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced,
		a.Dangling, a.Duplicated, a.BrokenBodies, a.CounterDrift,
	}
}

// since returns the difference of two audits.
func (cs counts) since(was counts) counts {
	for i := range cs {
		cs[i] -= was[i]
	}
	return cs
}

// changes returns what is counted more or less, or "".
func (cs counts) changes() string {
	var words []string
	for i, n := range cs {
		if n != 0 {
			words = append(words, fmt.Sprintf("%s %+d", counted[i], n))
		}
	}
	return strings.Join(words, ", ")
}

// of returns a number by its name.
func (cs counts) of(what string) int64 { return cs[slices.Index(counted[:], what)] }

// faults returns the faults that an audit counts, or "".
func (cs counts) faults() string {
	clear(cs[:firstFault])
	return cs.changes()
}
