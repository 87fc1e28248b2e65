package modeltest

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// TestReference runs the suite over the reference itself, in the manner of each
// model: where it fails, the suite is wrong.
func TestReference(t *testing.T) {
	open := func(testing.TB, *schemas.Schema) drivers.Store { return &referenceStore{} }
	for _, model := range []string{"elasticinbox", "james", "datastax", "conversation"} {
		t.Run(model, func(t *testing.T) {
			run(t, &suite{model: referenceModel(traitsOf(model), offers[model]), traits: traitsOf(model), open: open})
		})
	}
}

// offers hides what a model has not.
var offers = map[string]func(*reference) models.Mailbox{
	"elasticinbox": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.Labeler
			models.Purger
		}{r, r, r}
	},
	"james": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.UIDs
			models.Subscriber
		}{r, r, r}
	},
	"datastax": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.Labeler
		}{r, r}
	},
	"conversation": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.SenderSearcher
			models.Slicer
			models.Seer
			models.Poster
			models.RangeReader
		}{r, r, r, r, r, r}
	},
}

func referenceModel(tr traits, offer func(*reference) models.Mailbox) models.Model {
	return models.Model{
		Name: "reference",
		Schema: func() (*schemas.Schema, error) {
			return &schemas.Schema{Name: "reference", Patterns: []*schemas.Pattern{{Name: "all"}}}, nil
		},
		Bind: func(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
			st, err := p.Get("all")
			if err != nil {
				return nil, err
			}
			// Whoever binds the same store finds the same mail in it.
			s := st.(referenceStatement).referenceStore
			if s.ref == nil {
				s.ref = newReference(tr, o.Now)
			}
			return boundReference{offer(s.ref)}, nil
		},
	}
}

type boundReference struct{ mailbox models.Mailbox }

func (b boundReference) Mailbox(drivers.Session) models.Mailbox { return b.mailbox }

// referenceStore stands where a model has its store.
type referenceStore struct {
	drivers.Store
	ref *reference
}

func (s *referenceStore) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

func (s *referenceStore) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return referenceStatement{s, p}, nil
}

// referenceStatement leads to its store.
type referenceStatement struct {
	*referenceStore
	pattern *schemas.Pattern
}

func (s referenceStatement) Pattern() *schemas.Pattern { return s.pattern }

func (s *referenceStore) Session() (drivers.Session, error) { return referenceSession{}, nil }

type referenceSession struct{ drivers.Session }

func (referenceSession) Close() error { return nil }
