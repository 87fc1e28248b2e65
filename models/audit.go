package models

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// Audit counts what a model has stored, and the faults in it. The faults are 0 in
// an undamaged store.
type Audit struct {
	Accounts         int64    `json:"accounts"`
	Folders          int64    `json:"folders"`
	Messages         int64    `json:"messages"`             // index entries that lead to a message
	Deleted          int64    `json:"deleted"`              // deleted and not yet purged
	Unreferenced     int64    `json:"unreferenced"`         // messages, bodies, attachments or names that nothing refers to
	Dangling         int64    `json:"dangling"`             // index entries without their message, or messages without their index entry
	Duplicated       int64    `json:"duplicated"`           // messages in more than one folder where the model allows one
	BrokenBodies     int64    `json:"broken_bodies"`        // chunks missing or orphaned, length or checksum wrong
	InterruptedBlobs int64    `json:"broken_off,omitempty"` // interrupted writes into a blob store: invisible files
	CounterDrift     int64    `json:"counter_drift"`        // sum of |counter − recount|
	Notes            []string `json:"notes,omitempty"`      // the first faults of each kind by their keys: see Find
}

// Noted is how many faults of one kind an audit names.
const Noted = 5

// The kinds of fault.
const (
	Dangling     = "broken reference"
	Duplicated   = "duplicated"
	BrokenBody   = "broken body"
	CounterDrift = "counter drift"
)

// Find counts n faults of a kind, and says where they are unless Noted of that kind were named.
func (a *Audit) Find(kind string, n int64, format string, args ...any) {
	count := map[string]*int64{
		Dangling: &a.Dangling, Duplicated: &a.Duplicated, BrokenBody: &a.BrokenBodies, CounterDrift: &a.CounterDrift,
	}[kind]
	*count += n
	named := 0
	for _, note := range a.Notes {
		if strings.HasPrefix(note, kind+": ") {
			named++
		}
	}
	if named < Noted {
		a.Notes = append(a.Notes, kind+": "+fmt.Sprintf(format, args...))
	}
}

// UUIDText returns an identifier in its usual form of 36 characters.
func UUIDText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Verify runs the steps of an audit, until one fails. The error names the model.
func (c *Caller[M]) Verify(ctx context.Context, steps ...func(ctx context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: verification: %w", c.model, err)
		}
	}
	return nil
}

// Scan is a step of an audit that takes each row of a scan.
func (c *Caller[M]) Scan(st drivers.Statement, take func(row []drivers.Value)) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return c.S.Read(ctx, st, nil, func(row []drivers.Value) error {
			take(row)
			return nil
		})
	}
}

// Keys is a set of keys of rows, by which an audit finds the rows that refer to a missing row, and those that must not
// be there twice. It holds a hash of 64 bits of each key. Two of 100 million keys have the same one in one of 4,000
// audits.
type Keys map[uint64]bool

// Add adds a key, and reports whether it is new.
func (k Keys) Add(key ...drivers.Value) bool {
	h := KeyOf(key...)
	known := k[h]
	k[h] = true
	return !known
}

// Has reports whether the key was added.
func (k Keys) Has(key ...drivers.Value) bool { return k[KeyOf(key...)] }

var keySeed = maphash.MakeSeed()

// KeyOf returns a hash of a key, which differs in each process.
func KeyOf(key ...drivers.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(keySeed)
	for _, v := range key {
		maphash.WriteComparable(&h, v.UUIDBytes())
		maphash.WriteComparable(&h, v.Int64())
		maphash.WriteComparable(&h, v.Str())
	}
	return h.Sum64()
}
