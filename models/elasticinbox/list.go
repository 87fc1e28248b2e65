package elasticinbox

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// page reads up to limit messages of a label's index, newest first, into
// m.recs: a slice of the index and one multi-get. More is false at the end of the index.
func (m *mailbox) page(ctx context.Context, address string, l label, after drivers.Value,
	limit int,
) (more bool, err error) {
	m.ids, m.recs = m.ids[:0], m.recs[:0]
	err = m.S.Read(ctx, m.indexPage, m.With(m.indexKey(address, l), after, drivers.Bigint(int64(limit))), m.onID)
	if err != nil || len(m.ids) == 0 {
		return false, err
	}
	return len(m.ids) == limit, m.lookup(ctx, address)
}

// id takes a message's id from an index.
func (m *mailbox) id(row []drivers.Value) error {
	m.ids = append(m.ids, row[0])
	return nil
}

// List implements models.Mailbox.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	from := drivers.Value{}
	if !after.IsZero() {
		from = messageOf(after)
	}
	for limit > 0 {
		m.reset()
		more, err := m.page(ctx, f.Account.Address, labelOf(f), from, min(limit, maxPage))
		if err != nil {
			return m.Failed("list", f.Account, err)
		}
		for i := range m.recs {
			r := &m.recs[i]
			if !r.carries(labelOf(f)) {
				continue // the change was interrupted; an audit counts the entry
			}
			fill(&m.entry, r)
			if err := yield(&m.entry); err != nil {
				return m.Failed("list", f.Account, err)
			}
			limit--
		}
		if !more {
			return nil
		}
		from = m.ids[len(m.ids)-1]
	}
	return nil
}

// fill sets an entry from a super column.
func fill(e *models.Entry, r *record) {
	*e = models.Entry{
		Handle: handleOf(r.id),
		Known:  models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen,
		From:   r.from, Subject: r.subject, Date: r.date, Size: r.size, Seen: r.seen,
	}
}

// AllMail implements models.AllMailer: label 0.
func (m *mailbox) AllMail(a *models.Account) *models.Folder {
	m.allMail = models.Folder{Name: "all", Account: a, Ref: all}
	return &m.allMail
}
