package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mailbench/mailbench/drivers"
)

// Caller is what the mailbox of every model runs its statements with: a session, and
// buffers that each operation reuses. A model's mailbox embeds it.
type Caller struct {
	S       drivers.Session
	Calls   Calls
	Arena   Arena
	Handles Handles

	model string
	again drivers.Repeater    // S, if it counts repeated calls apart; else nil
	blobs drivers.BlobCounter // S, if it counts what goes to a store of blobs; else nil
	args  []drivers.Value
	row   func(row []drivers.Value) error
	onRow func(row []drivers.Value) error // c.oneRow, bound once: each method value is an allocation
	found bool
}

// Start makes c ready for the calls of a mailbox on session s. Errors name the model.
func (c *Caller) Start(model string, s drivers.Session) {
	c.model, c.S, c.onRow = model, s, c.oneRow
	c.again, _ = s.(drivers.Repeater)
	c.blobs, _ = s.(drivers.BlobCounter)
}

// Blob counts one call of a store of blobs, with the bytes that it read or wrote.
func (c *Caller) Blob(read, written int64) {
	if c.blobs != nil {
		c.blobs.Blob(read, written)
	}
}

// Repeating says whether the calls from here on repeat those of an attempt that failed because
// others changed the same row. They are counted as retries and not as what the operation costs.
// The model must end it before the operation ends.
func (c *Caller) Repeating(on bool) {
	if c.again != nil {
		c.again.Repeating(on)
	}
}

// With returns the arguments in a buffer that the next call of With reuses.
func (c *Caller) With(args ...drivers.Value) []drivers.Value {
	c.args = append(c.args[:0], args...)
	return c.args
}

// Also returns the arguments of the last With and after them the given ones.
func (c *Caller) Also(args ...drivers.Value) []drivers.Value {
	c.args = append(c.args, args...)
	return c.args
}

// Forget clears the values and arguments of the last operation. After one on a large message,
// the buffers of each of many mailboxes would otherwise refer to it until the next.
func (c *Caller) Forget() {
	c.Arena.Reset()
	clear(c.args[:cap(c.args)])
	c.Calls.forget()
}

// ReadOne runs a read that yields one row, or ErrNotFound if it yields none.
func (c *Caller) ReadOne(ctx context.Context, st drivers.Statement, args []drivers.Value,
	row func(row []drivers.Value) error,
) error {
	c.row, c.found = row, false
	err := c.S.Read(ctx, st, args, c.onRow)
	if err == nil && !c.found {
		return ErrNotFound
	}
	return err
}

func (c *Caller) oneRow(row []drivers.Value) error {
	c.found = true
	return c.row(row)
}

// Claim runs a conditional write. It returns ErrExists if the condition does not hold.
func (c *Caller) Claim(ctx context.Context, st drivers.Statement, args ...drivers.Value) error {
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

// Unused runs a read. It returns ErrExists if the read yields a row.
func (c *Caller) Unused(ctx context.Context, st drivers.Statement, args ...drivers.Value) error {
	err := c.ReadOne(ctx, st, c.With(args...), func([]drivers.Value) error { return ErrExists })
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Spread runs a batch with one part for each of n recipients. add adds the part of recipient
// i, which holds size bytes, to c.Calls. If all parts would hold more than KeepBuffer bytes,
// Spread runs several batches.
func (c *Caller) Spread(ctx context.Context, batch drivers.Statement, n int, size int64, add func(i int)) error {
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

// Failed adds the model, the operation and the account to an error, if there is one.
func (c *Caller) Failed(op string, a *Account, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s of %s: %w", c.model, op, a.Address, err)
}

// FailedIn is Failed with the folder too.
func (c *Caller) FailedIn(op string, f *Folder, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s in folder %q of %s: %w", c.model, op, f.Name, f.Account.Address, err)
}

// NoRaw implements Raw for a model that keeps no raw messages. The model's mailbox embeds it.
type NoRaw struct{}

// Raw implements Mailbox.
func (NoRaw) Raw(context.Context, *Folder, Handle, io.Writer) (int64, error) { return 0, ErrNotOffered }
