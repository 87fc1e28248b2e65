package james

import (
	"context"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// auditPage is how many messages an audit takes from a scan at a time.
const auditPage = 250

// audit audits all mailboxes. It holds a few words for each mailbox, and nothing for messages that it has checked.
type audit struct {
	*mailbox
	result models.Audit
	boxes  map[mailboxID]*box
	order  []mailboxID
	bodies int64               // messages that have data
	users  map[string]bool     // whether the address of each user is claimed
	claims map[mailboxID]int64 // number of names that lead to each missing mailbox
}

// box is a mailbox.
type box struct {
	user  string
	count int64 // of messages, as it is stored
	named bool
}

// Audit implements models.Mailbox.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := &audit{
		mailbox: m, boxes: map[mailboxID]*box{}, users: map[string]bool{}, claims: map[mailboxID]int64{},
	}
	err := m.Verify(ctx, m.Scan(m.do.Mailboxes, a.box), a.readNames, a.readMessages,
		m.Scan(m.do.Rows, a.strayRow), a.strayData)
	if err == nil {
		for _, names := range a.claims {
			a.result.Unreferenced += names
		}
	}
	return a.result, err
}

func (a *audit) box(row []drivers.Value) {
	id := mailboxID(row[0].UUIDBytes())
	a.users[row[1].Str()] = false
	a.boxes[id] = &box{user: row[1].Str(), count: row[2].Int64()}
	a.order = append(a.order, id)
	a.result.Accounts, a.result.Folders = int64(len(a.users)), int64(len(a.boxes))
}

// readNames checks that each account and each mailbox has its name. An interrupted
// creation leaves a name without a mailbox. If that mailbox has messages, the
// mailbox was lost.
func (a *audit) readNames(ctx context.Context) error {
	err := a.S.Read(ctx, a.do.Names, nil, func(row []drivers.Value) error {
		user, account, id := row[0].Str(), row[1].Size() == 0, mailboxID(row[2].UUIDBytes())
		_, known := a.users[user]
		switch b := a.boxes[id]; {
		case account && known:
			a.users[user] = true
		case b != nil:
			b.named = true
		case id != (mailboxID{}):
			a.claims[id]++
		}
		return nil
	})
	for _, user := range slices.Sorted(maps.Keys(a.users)) {
		if !a.users[user] {
			a.result.Find(models.Dangling, 1, "user %q has mailboxes, and no name reserves the address", user)
		}
	}
	for _, id := range a.order {
		if b := a.boxes[id]; !b.named {
			a.result.Find(models.Dangling, 1, "mailbox %s of user %q has no name", models.UUIDText(id), b.user)
		}
	}
	return err
}

// readMessages checks all messages of all mailboxes, and their count.
func (a *audit) readMessages(ctx context.Context) error {
	for _, id := range a.order {
		found, after := int64(0), drivers.Value{}
		for rows := auditPage; rows == auditPage; { // the last page has fewer
			rows, a.recs = 0, a.recs[:0]
			a.Arena.Reset()
			page := a.With(drivers.UUID(id), after, drivers.Bigint(auditPage))
			err := a.S.Read(ctx, a.do.Metadata, page, func(row []drivers.Value) error {
				uid := row[0].Int64()
				rows, after = rows+1, drivers.Bigint(uid)
				if row[1].IsNull() {
					a.result.Find(models.Dangling, 1, "message %d of mailbox %s has flags and nothing else", uid, models.UUIDText(id))
					return nil
				}
				r := record{uid: uid, size: row[1].Int64(), chunkSize: a.chunkSizeOf(&row[2])}
				if r.properties = a.Arena.Bytes(row[3].Raw()); row[3].Broken() {
					r.chunkSize = 0 // its body counts as broken
				}
				a.recs = append(a.recs, r)
				return nil
			})
			for i := 0; i < len(a.recs) && err == nil; i++ {
				err = a.check(ctx, id, &a.recs[i])
			}
			if err != nil {
				return err
			}
			found += int64(len(a.recs))
		}
		b := a.boxes[id]
		a.result.Messages += found
		if b.count != found {
			a.result.Find(models.CounterDrift, max(b.count-found, found-b.count),
				"mailbox %s of user %q: message_count is %d, and it has %d messages", models.UUIDText(id), b.user, b.count, found)
		}
	}
	return nil
}

// check reads the chunks of a message. They must be numbered 1, 2, 3 … and have the
// right lengths. A message as the source design has it has no checksum.
func (a *audit) check(ctx context.Context, id mailboxID, r *record) error {
	var layout models.Layout
	bare := len(r.properties) == 0
	whole, next, left, sum := (bare || layout.Parse(r.properties) == nil) && r.chunkSize > 0, int64(1), r.size, uint32(0)
	chunk := func(number int64, b []byte) error {
		whole = whole && number == next && int64(len(b)) == min(left, r.chunkSize)
		sum = models.Checksum(sum, b)
		left -= int64(len(b))
		next++
		return nil
	}
	var err error
	if at := a.With(drivers.UUID(id), drivers.Bigint(r.uid)); a.lwt.inOne(r.size, r.chunkSize) {
		err = a.S.Read(ctx, a.lwt.Body, at, func(row []drivers.Value) error { return chunk(1, row[0].Raw()) })
	} else {
		err = a.S.Read(ctx, a.do.Chunks, at, func(row []drivers.Value) error { return chunk(row[0].Int64(), row[1].Raw()) })
		if next > 1 {
			a.bodies++
		}
	}
	if !whole || left != 0 || sum != layout.Checksum && !bare {
		a.result.Find(models.BrokenBody, 1, "message %d of mailbox %s: size %d, %d chunks",
			r.uid, models.UUIDText(id), r.size, next-1)
	}
	return err
}

// strayRow counts a message whose mailbox is lost: no operation deletes a mailbox, and a
// message comes after its mailbox.
func (a *audit) strayRow(row []drivers.Value) {
	id := mailboxID(row[0].UUIDBytes())
	if a.boxes[id] == nil {
		a.result.Find(models.Dangling, 1+a.claims[id], "message %d is in mailbox %s, which is lost",
			row[1].Int64(), models.UUIDText(id))
		delete(a.claims, id)
	}
}

// strayData counts bodies without metadata, which an interrupted delivery leaves.
// Every engine stores the chunks of one message together.
func (a *audit) strayData(ctx context.Context) error {
	var last mailboxID
	var lastUID, bodies int64
	err := a.S.Read(ctx, a.do.ChunkRows, nil, func(row []drivers.Value) error {
		id, uid := mailboxID(row[0].UUIDBytes()), row[1].Int64()
		if a.boxes[id] != nil && (id != last || uid != lastUID) {
			bodies++
		}
		last, lastUID = id, uid
		return nil
	})
	a.result.Unreferenced += max(bodies-a.bodies, 0)
	return err
}
