package elasticinbox

import (
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// A delete of elasticinbox@hard leaves nothing of its messages, and there is nothing to purge.
func TestHardDelete(t *testing.T) {
	v, err := Model().Variant(func() (*schemas.Schema, error) { return schemas.Bundled("elasticinbox@hard") })
	if err != nil {
		t.Fatal(err)
	}
	w := modeltest.NewWorld(t, v)
	mb := w.Mailbox(w.Bind(models.Options{Node: 1}))
	a, err := mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX"})
	w.Must(err)
	hs := make([]models.Handle, 3)
	for i := range hs {
		w.Must(mb.Deliver(t.Context(), draft(i).Message(), a.Folders, hs[i:i+1]))
	}
	w.Must(mb.Delete(t.Context(), a.Folders[0], hs))
	for _, table := range []string{"MessageMetadata.columns", "MessageBlob", "IndexLabels"} {
		if rows := w.Rows(table); len(rows) > 0 {
			t.Errorf("%s has %d rows", table, len(rows))
		}
	}
	if _, ok := mb.(models.Purger); ok {
		t.Error("it offers a purge")
	}
}
