package drivers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas"
)

// Admin lists and drops namespaces. Every store of a Remote engine is one. It
// lists and drops only namespaces with mailbench's prefix and mark, and refuses
// to drop any other with ErrForeign.
type Admin interface {
	// Namespaces lists the namespaces of all runs on the engine, also those
	// that killed runs left, with what the engine reports about them.
	Namespaces(ctx context.Context) ([]Namespace, error)
	// Drop removes the namespace that the store was opened with: every schema
	// applied in it, with all data, and nothing else. It returns what it leaves on the
	// engine's disks and how that is removed, or "".
	Drop(ctx context.Context) (left string, err error)
}

// Namespace is what an engine reports about a namespace of mailbench's.
type Namespace struct {
	Name   string    `json:"namespace"`
	Tables int       `json:"tables,omitempty"` // 0: not reported
	Bytes  *int64    `json:"bytes,omitempty"`  // on the disk of the node that answered; nil: not reported
	Since  time.Time `json:"since,omitzero"`   // when it was made; zero: not reported
}

// Time limits of calls to a cluster. Opening a store sends some 20 requests, which a cluster that many
// others make tables on took over half a minute to answer. HBase drops tables one by one and takes a
// second or two for each.
const (
	reachAtMost = time.Minute
	dropAtMost  = 2 * time.Minute
)

// Reach opens a store of a Remote engine within a bounded time. If no node
// answers, the error names the address and says what to do.
func (e Engine) Reach(ctx context.Context, o Options) (st Store, err error) {
	where := "on this machine"
	if len(o.Contact) > 0 {
		where = "at " + strings.Join(o.Contact, ", ")
	}
	err = Within(ctx, reachAtMost, func(ctx context.Context) (err error) {
		st, err = e.Open(ctx, o)
		return err
	})
	switch {
	case errors.Is(err, ErrUnreachable):
		start := cmp.Or(e.Server, fmt.Sprintf("\"mailbench engine up %s\" starts one on this machine", e.Name))
		return nil, fmt.Errorf("%s cannot be reached %s: %w; %s, --contact HOST names another", e.Name, where, err, start)
	case err != nil:
		return nil, fmt.Errorf("open %s %s: %w", e.Name, where, err)
	}
	return st, nil
}

// Namespaces lists the namespaces on a store's engine by their names, in a bounded time.
func Namespaces(ctx context.Context, st Store) ([]Namespace, error) {
	all, err := atMost(ctx, st, reachAtMost, Admin.Namespaces)
	slices.SortFunc(all, func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Drop drops a store's namespace, in a bounded time.
func Drop(ctx context.Context, st Store) (left string, err error) {
	return atMost(ctx, st, dropAtMost, Admin.Drop)
}

// atMost makes a call of a store's Admin, in a bounded time.
func atMost[R any](
	ctx context.Context, st Store, most time.Duration, call func(Admin, context.Context) (R, error),
) (r R, err error) {
	a, ok := st.(Admin)
	if !ok {
		return r, fmt.Errorf("%s has no namespaces to list or drop", st.Capabilities().Engine)
	}
	err = Within(ctx, most, func(ctx context.Context) (err error) {
		r, err = call(a, ctx)
		return err
	})
	return r, err
}

// Within calls do with a time limit. If do returns an error after the limit, Within adds
// the limit to it.
func Within(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("not done within %v: %w", most, err)
	}
	return err
}

// Pause waits for so long, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() // also where a busy machine let both happen
}

// Describer is a store that can print the statements that would create existing tables. It only
// reads.
type Describer interface {
	// Describe returns the statements of a keyspace, which need not be mailbench's.
	Describe(ctx context.Context, keyspace string) (string, error)
	// Prepared returns the statements that clients of a keyspace have prepared on the node that answers,
	// a line each.
	Prepared(ctx context.Context, keyspace string) (string, error)
}

// Compare compares existing tables with a schema's, in a bounded time.
func Compare(ctx context.Context, st Store, s *schemas.Schema) (c *Comparison, err error) {
	if err = Within(ctx, reachAtMost, func(ctx context.Context) (err error) {
		c, err = st.Compare(ctx, s)
		return err
	}); err != nil {
		return nil, err
	}
	c.Drifts, c.Ignored = append([]Drift{}, c.Drifts...), []Drift{} // no null in JSON
	for i := range c.Drifts {
		c.Drifts[i].Text = c.Drifts[i].String()
	}
	slices.SortStableFunc(c.Drifts, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(a.Harm, b.Harm), cmp.Compare(a.Kind, b.Kind))
	})
	return c, nil
}

// Comparison says how existing tables differ from a schema's. In JSON, fields are added, never removed.
type Comparison struct {
	Where  string  `json:"where"`       // "keyspace mailbench_james"
	Drifts []Drift `json:"differences"` // the most harmful first
	// Ignored are the differences that the user does not want to hear of.
	Ignored []Drift `json:"ignored"`
	// Unseen lists what Compare cannot learn from the engine, a sentence each.
	Unseen []string `json:"unseen,omitempty"`
}

// Drift is a difference, its harm, and the statements that would fix it.
type Drift struct {
	Harm schemas.Harm `json:"harm"`
	schemas.Difference
	Text string `json:"text"` // the difference as a sentence, set by Compare
	// Fix lists statements for the engine's own shell. A step that would remove data, or
	// that no statement does, is a comment of that shell. It is nil if nothing is to be fixed.
	Fix []string `json:"mend"`
}

// Shell is how an engine's own shell takes statements: Comment begins a comment, End ends a statement.
type Shell struct{ Comment, End string }

// Unsafe returns a statement as a comment that says what would be lost.
func (sh Shell) Unsafe(what, statement string) string {
	return sh.Comment + " " + what + ": " + statement + sh.End
}

// Drifts returns the differences of tables from a schema with the harm of their kinds and the statements that fix them.
// Extensions of the source design need no fix.
func (sh Shell) Drifts(
	s *schemas.Schema, differences []schemas.Difference, statements func(schemas.Difference) []string,
) []Drift {
	drifts := make([]Drift, len(differences))
	for i, d := range differences {
		drifts[i] = Drift{Harm: d.Harm(), Difference: d}
		if s.Added(d) {
			drifts[i].Harm = schemas.NotInDocument
			continue
		}
		for _, statement := range statements(d) {
			if !strings.HasPrefix(statement, sh.Comment) {
				statement += sh.End
			}
			drifts[i].Fix = append(drifts[i].Fix, statement)
		}
	}
	return drifts
}

// Statements returns the statements of some changes, each once: two changes may need the same one.
func Statements(changes []schemas.Difference, of func(schemas.Difference) []string) (all []string) {
	for _, c := range changes {
		for _, statement := range of(c) {
			if !slices.Contains(all, statement) {
				all = append(all, statement)
			}
		}
	}
	return all
}

// AsDocument reports whether nothing differs but what the source design does not have.
func (c *Comparison) AsDocument() bool {
	return !slices.ContainsFunc(c.Drifts, func(d Drift) bool { return d.Harm != schemas.NotInDocument })
}

// maxConflicts is how many differences an error names.
const maxConflicts = 3

// Conflict returns an error that names the first differences between a schema and the
// existing tables, the most harmful first. Without differences it returns nil.
func Conflict(differences []schemas.Difference) error {
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("a different schema of that name is there: %s; use another namespace or data directory, or the "+
		"schema it was made with", first(differences))
}

// first names the first differences.
func first(differences []schemas.Difference) string {
	var words []string
	for _, d := range differences[:min(maxConflicts, len(differences))] {
		words = append(words, d.String())
	}
	if more := len(differences) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}

// Missing compares a schema with the existing tables, in the forms that Store.Stored and
// Store.Inspect return. It returns the tables, types and indexes that Apply has yet to create.
// Any other difference is a Conflict.
func Missing(stored, there *schemas.Schema) (missing []schemas.Difference, err error) {
	var others []schemas.Difference
	for _, d := range schemas.Diff(stored, there) {
		if d.Kind == schemas.MissingTable || d.Kind == schemas.MissingType || d.Kind == schemas.MissingIndex {
			missing = append(missing, d)
		} else {
			others = append(others, d)
		}
	}
	return missing, Conflict(others)
}

// Readable compares a schema with the existing tables, as Missing does. It returns an
// error that names the first differences if rows cannot be read as the schema says. Indexes, further
// tables and columns, and settings other than these are none.
func Readable(stored, there *schemas.Schema, settings []string) error {
	others := slices.DeleteFunc(schemas.Diff(stored, there), func(d schemas.Difference) bool {
		switch d.Kind {
		case schemas.MissingTable, schemas.MissingColumn, schemas.DifferentKey, schemas.DifferentType,
			schemas.DifferentRole, schemas.DifferentOrder:
			return false
		}
		return d.Kind != schemas.DifferentSetting || !slices.Contains(settings, d.Part)
	})
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("its tables are not those of schema %s: %s; \"mailbench schema diff\" names all that differs",
		stored.Name, first(others))
}

// CheckKeyspace returns an error if Keyspace is given for a store that may write:
// then it could write where mailbench did not create the tables.
func (o Options) CheckKeyspace() error {
	if o.Keyspace != "" && !o.ReadOnly {
		return fmt.Errorf("keyspace %s: a store with a keyspace can only be opened for reading", o.Keyspace)
	}
	return nil
}

// Ignore moves the differences that words name from Drifts to Ignored. A word is a setting, column,
// index or type (read_repair; compaction has all its fields), TABLE.PART (orders.read_repair), a
// table, for all that differs in it, or a kind ("extra column"). It returns the words that name none.
func (c *Comparison) Ignore(words []string) (idle []string) {
	for _, word := range words {
		before := len(c.Drifts)
		c.Drifts = slices.DeleteFunc(c.Drifts, func(d Drift) bool {
			part := d.Part
			if d.Kind == schemas.DifferentSetting || d.Kind == schemas.DifferentExpiry {
				_, part, _ = strings.Cut(part, ".") // ENGINE.SETTING
			}
			under := func(word string) bool { return part != "" && (part == word || strings.HasPrefix(part, word+".")) }
			ofTable, inTable := strings.CutPrefix(word, d.Table+".")
			match := word != "" && (word == d.Kind.String() || word == d.Table || under(word) ||
				d.Table != "" && inTable && under(ofTable))
			if match {
				c.Ignored = append(c.Ignored, d)
			}
			return match
		})
		if len(c.Drifts) == before {
			idle = append(idle, word)
		}
	}
	return idle
}

// AbsentError is the error of a store that is open for reading only and has none that a schema's tables
// would be in.
type AbsentError struct {
	What  string   // "keyspace", "namespace" or "schema"
	Name  string   // in full, as the engine has it
	Where string   // such as "at 127.0.0.1:9042"
	There []string // others of the kind that are there, also those that mailbench did not make
}

// Error implements error.
func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no %s %s %s", e.What, e.Name, e.Where)
}
