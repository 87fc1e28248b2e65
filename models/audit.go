package models

import (
	"fmt"
	"strings"
)

// Audit counts what a model has stored, and the faults in it, as package audit finds them. The faults are 0 in
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
