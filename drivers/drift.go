package drivers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// Comparer is a store that compares existing tables with a schema's, also tables that
// mailbench did not create. It only reads. Every engine that keeps tables has one.
type Comparer interface {
	Compare(ctx context.Context, s *schemas.Schema) (*Comparison, error)
}

// Compare compares existing tables with a schema's, in a bounded time.
func Compare(ctx context.Context, st Store, s *schemas.Schema) (c *Comparison, err error) {
	to, ok := st.(Comparer)
	if !ok {
		return nil, fmt.Errorf("%s has no tables to compare", st.Capabilities().Engine)
	}
	err = Within(ctx, reachAtMost, func(ctx context.Context) (err error) {
		c, err = to.Compare(ctx, s)
		return err
	})
	if err == nil {
		for i := range c.Drifts {
			if d := &c.Drifts[i]; s.Added(d.Difference) {
				d.Harm, d.Mend = NotInDocument, nil
			}
		}
		slices.SortStableFunc(c.Drifts, func(a, b Drift) int {
			return cmp.Or(cmp.Compare(a.Harm, b.Harm), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return c, err
}

// Comparison says how existing tables differ from a schema's.
type Comparison struct {
	Where  string  // "keyspace mailbench_james"
	Drifts []Drift // the most harmful first
	// Ignored are the differences that the user does not want to hear of.
	Ignored []Drift
	// Unseen lists what Compare cannot learn from the engine, a sentence each.
	Unseen []string
}

// Drift is a difference, its harm, and the statements that would mend it.
type Drift struct {
	schemas.Difference
	Harm Harm
	// Mend lists statements for the engine's own shell. A step that would remove data, or
	// that no statement does, is a comment of that shell.
	Mend []string
}

// Drifts returns differences with the harm of their kinds.
func Drifts(differences []schemas.Difference) []Drift {
	drifts := make([]Drift, len(differences))
	for i, d := range differences {
		drifts[i] = Drift{Difference: d, Harm: harms[d.Kind]}
	}
	return drifts
}

// Harm is the worst consequence of a difference.
type Harm uint8

// Harms, the worst first.
const (
	CallsFail Harm = iota // calls on the table fail
	RowsWrong             // rows are lost, or come back in another order
	ReadsFail             // reads through an index fail or are slow
	CostsMore             // disk, memory or time, and how long deleted rows are kept
	OnlyThere             // it takes space, and an index slows every write
	// NotInDocument: mailbench adds it to the document that the schema is of. A store as the
	// document has it lacks it, and nothing is to be mended.
	NotInDocument
)

var harmWords = [...]string{
	"calls fail", "rows are lost or wrong", "reads fail or are slow", "other costs", "not in the schema",
	"not in the document",
}

// AsDocument reports whether nothing differs but what the document does not have.
func (c *Comparison) AsDocument() bool {
	return !slices.ContainsFunc(c.Drifts, func(d Drift) bool { return d.Harm != NotInDocument })
}

// String returns the harm in a few words.
func (h Harm) String() string { return harmWords[h] }

var harms = map[schemas.DifferenceKind]Harm{
	schemas.MissingTable: CallsFail, schemas.MissingType: CallsFail, schemas.DifferentFields: CallsFail,
	schemas.MissingColumn: CallsFail, schemas.DifferentKey: CallsFail,
	schemas.DifferentType: CallsFail, schemas.DifferentRole: CallsFail,
	schemas.DifferentExpiry: RowsWrong, schemas.DifferentOrder: RowsWrong,
	schemas.MissingIndex: ReadsFail, schemas.DifferentIndex: ReadsFail,
	schemas.DifferentSetting: CostsMore,
	schemas.ExtraColumn:      OnlyThere, schemas.ExtraIndex: OnlyThere, schemas.ExtraTable: OnlyThere,
	schemas.ExtraType: OnlyThere,
}
