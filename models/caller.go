package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Caller is what the mailbox M of every model runs its statements with: a session, and
// buffers that each operation reuses. The mailbox embeds it.
//
// A function that a read calls with each row gets the mailbox too. So it need capture nothing, and a function that
// captures nothing is no allocation.
type Caller[M any] struct {
	S      drivers.Session
	Calls  Calls
	Arena  Arena
	Opened *Opened // the message of OpenRow

	model   string
	mailbox *M
	args    []drivers.Value
	row     func(m *M, row []drivers.Value) error
	onRow   func(row []drivers.Value) error // c.oneRow, bound once: each method value is an allocation
	found   bool

	got   []drivers.Value                 // the row that Get returns
	kept  Arena                           // its bytes
	onGet func(row []drivers.Value) error // c.keep

	handles []Handle        // those that IDs sorts
	named   []drivers.Value // what IDs returns

	ids    []drivers.Value // of the messages that Rows reads
	at     int             // the next of them
	have   int             // how many of them have a row
	take   func(m *M, at int, row []drivers.Value) error
	onRows func(row []drivers.Value) error // c.nextRow
}

// Start makes c ready for the calls of a mailbox on session s. Errors name the model.
func (c *Caller[M]) Start(model string, m *M, s drivers.Session) {
	c.model, c.mailbox, c.S, c.onRow, c.onGet, c.onRows = model, m, s, c.oneRow, c.keep, c.nextRow
}

// With returns the arguments in a buffer that the next call of With reuses.
func (c *Caller[M]) With(args ...drivers.Value) []drivers.Value {
	c.args = append(c.args[:0], args...)
	return c.args
}

// Also returns the arguments of the last With and after them the given ones.
func (c *Caller[M]) Also(args ...drivers.Value) []drivers.Value {
	c.args = append(c.args, args...)
	return c.args
}

// Forget clears the values and arguments of the last operation. After one on a large message,
// the buffers of each of many mailboxes would otherwise refer to it until the next.
func (c *Caller[M]) Forget() {
	c.Arena.Reset()
	clear(c.args[:cap(c.args)])
	clear(c.Calls.List[:cap(c.Calls.List)])
	clear(c.Calls.args[:cap(c.Calls.args)])
	c.Calls.Reset()
}

// Read runs a read. A row is valid until the function returns. Without one, the read only says whether there are rows.
func (c *Caller[M]) Read(ctx context.Context, st drivers.Statement, args []drivers.Value,
	row func(m *M, row []drivers.Value) error,
) error {
	c.row, c.found = row, false
	err := c.S.Read(ctx, st, args, c.onRow)
	c.row = nil
	return err
}

// ReadOne runs a read that yields one row, or ErrNotFound if it yields none.
func (c *Caller[M]) ReadOne(ctx context.Context, st drivers.Statement, args []drivers.Value,
	row func(m *M, row []drivers.Value) error,
) error {
	err := c.Read(ctx, st, args, row)
	if err == nil && !c.found {
		return ErrNotFound
	}
	return err
}

func (c *Caller[M]) oneRow(row []drivers.Value) (err error) {
	if c.row != nil {
		err = c.row(c.mailbox, row)
	}
	c.found = true
	return err
}

// Get returns the row that a read yields, or nulls if it yields none. It is valid until the next Get, One or Unused.
func (c *Caller[M]) Get(ctx context.Context, st drivers.Statement, args ...drivers.Value) ([]drivers.Value, error) {
	n := len(st.Pattern().Columns)
	c.got, c.found = slices.Grow(c.got[:0], n)[:n], false
	clear(c.got)
	err := c.S.Read(ctx, st, c.With(args...), c.onGet)
	return c.got, err
}

// One is Get of a row that must be there: otherwise the error is ErrNotFound.
func (c *Caller[M]) One(ctx context.Context, st drivers.Statement, args ...drivers.Value) ([]drivers.Value, error) {
	row, err := c.Get(ctx, st, args...)
	if err == nil && !c.found {
		err = ErrNotFound
	}
	return row, err
}

// keep copies the row of Get.
func (c *Caller[M]) keep(row []drivers.Value) error {
	c.kept.Reset()
	c.got, c.found = append(c.got[:0], c.kept.Row(row)...), true
	return nil
}

// OpenRow opens a message that is one row. set takes the row, to set what e leaves out of c.Opened.
func (c *Caller[M]) OpenRow(ctx context.Context, o *Opened, e Entry, st drivers.Statement, args []drivers.Value,
	set func(m *M, row []drivers.Value) error,
) error {
	if e.Handle.IsZero() {
		return ErrNotFound
	}
	e.From, e.Subject = o.From, o.Subject
	o.Entry, o.Flags, c.Opened = e, 0, o
	err := c.ReadOne(ctx, st, args, set)
	c.Opened = nil
	if o.Seen {
		o.Flags = Seen
	}
	return err
}

// IDs returns the ids of the messages that an operation names, in a buffer that the next call reuses. A handle that
// names nothing has the id null. The error is ErrNotFound if there is one, or if a message is named twice: an operation
// that removes messages would not find it the second time.
func (c *Caller[M]) IDs(hs []Handle, id func(h Handle) drivers.Value) ([]drivers.Value, error) {
	c.named = c.named[:0]
	for _, h := range hs {
		v := id(h)
		if h.IsZero() || v.IsNull() {
			return nil, ErrNotFound
		}
		c.named = append(c.named, v)
	}
	c.handles = append(c.handles[:0], hs...)
	slices.SortFunc(c.handles, func(a, b Handle) int { return bytes.Compare(a[:], b[:]) })
	if len(slices.Compact(c.handles)) < len(hs) {
		return nil, fmt.Errorf("a message is named twice: %w", ErrNotFound)
	}
	return c.named, nil
}

// Rows reads rows of messages in one call. Its arguments are key and then the list of ids, in whose order
// rows come. take takes the row of ids[at], which begins with the id. A message that is missing has none.
func (c *Caller[M]) Rows(ctx context.Context, st drivers.Statement, ids []drivers.Value,
	take func(m *M, at int, row []drivers.Value) error, key ...drivers.Value,
) error {
	c.ids, c.at, c.have, c.take = ids, 0, 0, take
	c.With(key...)
	err := c.S.Read(ctx, st, c.Also(drivers.ListOf(ids)), c.onRows)
	c.ids, c.take = nil, nil
	return err
}

// Several is Rows of the messages that an operation names, which must all be there: otherwise the error is ErrNotFound.
func (c *Caller[M]) Several(ctx context.Context, st drivers.Statement, hs []Handle, id func(h Handle) drivers.Value,
	take func(m *M, at int, row []drivers.Value) error, key ...drivers.Value,
) error {
	ids, err := c.IDs(hs, id)
	if err != nil || len(hs) == 0 {
		return err
	}
	err = c.Rows(ctx, st, ids, take, key...)
	if err == nil && c.have < len(ids) {
		return ErrNotFound
	}
	return err
}

// nextRow takes a row of Rows.
func (c *Caller[M]) nextRow(row []drivers.Value) error {
	for c.at < len(c.ids) && !row[0].Equal(c.ids[c.at]) {
		c.at++
	}
	at := c.at
	if at == len(c.ids) {
		return errors.New("the row of a message came out of turn")
	}
	c.at++
	c.have++
	if c.take == nil {
		return nil
	}
	return c.take(c.mailbox, at, row)
}

// Claim runs a conditional write. It returns ErrExists if the condition does not hold.
func (c *Caller[M]) Claim(ctx context.Context, st drivers.Statement, args ...drivers.Value) error {
	r, err := c.S.Write(ctx, st, c.With(args...))
	if err == nil && !r.Applied {
		return ErrExists
	}
	return err
}

// CheckFolders returns an error if a new account cannot have these folders: none, or two of
// one name.
func CheckFolders(folders []string) error {
	if len(folders) == 0 {
		return errors.New("an account needs an inbox; name at least one folder")
	}
	for i, name := range folders {
		if slices.Contains(folders[:i], name) {
			return fmt.Errorf("folder %q: %w", name, ErrExists)
		}
	}
	return nil
}

// Create creates an account. folder makes each folder, and adds its part of the batch to c.Calls; claim reserves the
// address, and then the batch runs.
func (c *Caller[M]) Create(ctx context.Context, a *Account, folders []string, batch drivers.Statement,
	folder func(i int, name string) *Folder, claim func() error,
) (_ *Account, err error) {
	defer c.Failed(&err, a, "creation")
	if err := CheckFolders(folders); err != nil {
		return a, err
	}
	c.Calls.Reset()
	for i, name := range folders {
		a.Folders = append(a.Folders, folder(i, name))
	}
	err = claim()
	if err == nil && len(c.Calls.List) > 0 {
		err = Partly(c.S.Batch(ctx, batch, c.Calls.List))
	}
	return a, err
}

// LogIn returns the account of an address with the folders that read adds to it, or ErrNotFound if there are none.
func (c *Caller[M]) LogIn(address string, read func(a *Account) error) (_ *Account, err error) {
	a := &Account{Address: address}
	defer c.Failed(&err, a, "login")
	if address == "" { // some engines refuse an empty key
		return nil, ErrNotFound
	}
	if err = read(a); err == nil && len(a.Folders) == 0 {
		err = ErrNotFound
	}
	return a, err
}

// Addresses returns the first column of the rows of a scan, in order and each only once.
func (c *Caller[M]) Addresses(ctx context.Context, st drivers.Statement) (all []string, err error) {
	err = c.S.Read(ctx, st, nil, func(row []drivers.Value) error {
		if n := len(all); n == 0 || all[n-1] != string(row[0].Raw()) { // those of one account often follow each other
			all = append(all, row[0].Str())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: accounts: %w", c.model, err)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Unused runs a read. It returns ErrExists if the read yields a row.
func (c *Caller[M]) Unused(ctx context.Context, st drivers.Statement, args ...drivers.Value) error {
	_, err := c.Get(ctx, st, args...)
	if err == nil && c.found {
		return ErrExists
	}
	return err
}

// Spread runs a batch with one part for each of n recipients. add adds the part of recipient
// i, which holds size bytes, to c.Calls. If all parts would hold more than KeepBuffer bytes,
// Spread runs several batches.
func (c *Caller[M]) Spread(ctx context.Context, batch drivers.Statement, n int, size int64, add func(i int)) error {
	c.Calls.Reset()
	for i := range n {
		add(i)
		if i < n-1 && int64(len(c.Calls.List))*size < KeepBuffer {
			continue
		}
		if err := c.S.Batch(ctx, batch, c.Calls.List); err != nil {
			if i >= len(c.Calls.List) { // earlier recipients have the message
				err = Partly(err)
			}
			return err
		}
		c.Calls.Reset()
	}
	return nil
}

// Failed adds the model, the operation and the account to the error that an operation returns, if
// there is one: an operation defers it. A verb in op is that of a name.
func (c *Caller[M]) Failed(err *error, a *Account, op string, name ...string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %s of %s: %w", c.model, named(op, name), a.Address, *err)
	}
}

// FailedIn is Failed with the folder too.
func (c *Caller[M]) FailedIn(err *error, f *Folder, op string, name ...string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %s in folder %q of %s: %w", c.model, named(op, name), f.Name, f.Account.Address, *err)
	}
}

func named(op string, name []string) string {
	for _, n := range name {
		op = fmt.Sprintf(op, n)
	}
	return op
}

// NoRaw implements Raw for a model that keeps no raw messages. The model's mailbox embeds it.
type NoRaw struct{}

// Raw implements Mailbox.
func (NoRaw) Raw(context.Context, *Folder, Handle, io.Writer) (int64, error) { return 0, ErrNotOffered }

// KeepBuffer is the size in bytes of the largest buffer that a mailbox keeps after
// use. Otherwise each of many workers could keep a message of 25 MB.
const KeepBuffer = 256 << 10

// Reuse returns b for its next use: empty, or nil if it has grown too large.
func Reuse(b []byte) []byte {
	if cap(b) > KeepBuffer {
		return nil
	}
	return b[:0]
}

// Arena keeps copies of values that a store yields, since those are valid only
// until the yield returns. The copies are valid until Reset.
type Arena struct {
	bytes  []byte
	values []drivers.Value
}

// Reset makes the arena empty.
func (a *Arena) Reset() {
	a.bytes = Reuse(a.bytes)
	clear(a.values) // they refer to bytes
	a.values = a.values[:0]
}

// Bytes returns a copy of b.
func (a *Arena) Bytes(b []byte) []byte {
	// If append allocates a larger array, earlier copies keep the old one. It would copy a
	// large array, so a new one begins instead.
	if n := len(a.bytes); n > KeepBuffer/2 && cap(a.bytes)-n < len(b) {
		a.bytes = make([]byte, 0, max(len(b), KeepBuffer))
	}
	at := len(a.bytes)
	a.bytes = append(a.bytes, b...)
	return slices.Clip(a.bytes[at:])
}

// Value returns a deep copy of v.
func (a *Arena) Value(v drivers.Value) drivers.Value {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(v.Kind(), a.Bytes(v.Raw()))
	case schemas.Set, schemas.List, schemas.Map:
		return drivers.Collection(v.Kind(), a.Row(v.Elems()))
	default:
		return v
	}
}

// Row returns a copy of a row, collections included.
func (a *Arena) Row(row []drivers.Value) []drivers.Value {
	at := len(a.values)
	a.values = append(a.values, row...)
	copied := slices.Clip(a.values[at:])
	for i := range row {
		copied[i] = a.Value(row[i])
	}
	return copied
}

// Calls collects the parts of a batch in buffers that it reuses.
type Calls struct {
	List []drivers.Call
	args []drivers.Value
}

// Reset empties the list.
func (c *Calls) Reset() { c.List, c.args = c.List[:0], c.args[:0] }

// Add adds a call of a part of the batch. part is its position in the batch.
func (c *Calls) Add(part int, args ...drivers.Value) {
	at := len(c.args)
	// If append allocates a larger array, earlier calls keep the old one.
	c.args = append(c.args, args...)
	c.List = append(c.List, drivers.Call{Part: part, Args: c.args[at:len(c.args):len(c.args)]})
}

// Also adds more arguments to the last call.
func (c *Calls) Also(args ...drivers.Value) {
	last := &c.List[len(c.List)-1]
	at := len(c.args) - len(last.Args)
	c.args = append(c.args, args...)
	last.Args = c.args[at:len(c.args):len(c.args)]
}

// Holder says how much memory its calls take, so that a caller with many mailboxes can limit
// how many calls on large messages run at a time.
type Holder interface {
	// Holds returns what the calls on a message will hold, from its sizes alone.
	Holds(m *mail.Message) Holding
}

// Holding is how many bytes of memory the calls on a message hold at once: the bytes that the
// model reads or encodes, and the engine's copy of them. A model that puts a message into one
// row holds all of it. A model that streams holds a few chunks.
type Holding struct {
	Deliver, Open, Attachment, Move int64
	// Row is for any other call that reads the message's row, such as a listing: an engine
	// may keep a row in one piece.
	Row int64
}

// Reading is the most that a call holds on a message that is there already.
func (h *Holding) Reading() int64 { return max(h.Open, h.Attachment, h.Move, h.Row) }

// LargeMessage is how many bytes an operation holds without a reservation.
const LargeMessage = 1 << 20

// Packed is a Holding in one byte, for the ledger. It rounds up to 1 MiB times a power of two.
// The high four bits are the exponent for calls that read the message, the low four bits for
// calls that read its row. It is 0 if both are at most LargeMessage.
type Packed uint8

// Pack packs h. A delivery does not count.
func Pack(h Holding) Packed {
	return exponent(max(h.Open, h.Attachment, h.Move))<<4 | exponent(h.Row)
}

// exponent is the least e, 15 at most, for which n is at most 1<<e MiB.
func exponent(n int64) Packed { return Packed(min(bits.Len64(uint64(max(0, n-1))>>20), 15)) }

// Holding returns the packed holding, rounded up.
func (p Packed) Holding() (h Holding) {
	if e := p >> 4; e > 0 {
		h.Open = LargeMessage << e
		h.Attachment, h.Move = h.Open, h.Open
	}
	if e := p & 15; e > 0 {
		h.Row = LargeMessage << e
	}
	return h
}
