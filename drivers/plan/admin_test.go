package plan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// TestDrop: only places whose tables all have the mark of the namespace are dropped, and those that a killed run left
// empty; one with the namespace in its name and somebody else's table is an error.
func TestDrop(t *testing.T) {
	all := make(plan.Owners)
	all.Of("mailbench_a_mail").Add("x", "a", true)
	all.Of("mailbench_a_mail").Add("y", "a", true)
	all.Of("mailbench_b_mail").Add("x", "b", true)
	all.Of("mailbench_a_left")
	all.Of("mailbench_c_left")
	all.Of("mailbench_a_theirs").Add("x", "a", true)
	all.Of("mailbench_a_theirs").Add("y", "", false)
	all.Of("mailbench_a_two").Add("x", "a", true)
	all.Of("mailbench_a_two").Add("z", "b", true)
	all.Of("mailbench_mail").Add("x", "", true)
	all.Of("mailbench_theirs").Add("x", "", false) // their table has no mark
	for _, c := range []struct {
		readOnly  bool
		namespace string
		dropped   []string
		err       string
	}{
		{
			false, "a",
			[]string{"mailbench_a_left", "mailbench_a_mail"},
			"drop: drop keyspace mailbench_a_theirs: table y: not made by mailbench, so the keyspace is left alone\n" +
				"drop keyspace mailbench_a_two: table z: not made by mailbench, so the keyspace is left alone",
		},
		{false, "b", []string{"mailbench_b_mail"}, ""},
		{false, "", []string{"mailbench_mail"}, ""},
		{true, "a", nil, "drop: the store is open for reading only"},
	} {
		var dropped []string
		a := plan.Admin{
			Entry: &plan.Gate{Engine: "test", ReadOnly: c.readOnly}, Kind: "keyspace", Namespace: c.namespace,
			Owners: func(context.Context) (plan.Owners, error) { return all, nil },
			Remove: func(_ context.Context, place string, _ *plan.Owner) error {
				dropped = append(dropped, place)
				return nil
			},
			Left: func() string { return "snapshots" },
		}
		left, err := a.Drop(t.Context())
		if (left == "snapshots") != (err == nil) {
			t.Errorf("namespace %q: drop leaves %q, %v", c.namespace, left, err)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(dropped, c.dropped) || text != c.err {
			t.Errorf("namespace %q: dropped %q, %v; want %q, %s", c.namespace, dropped, err, c.dropped, c.err)
		}
	}
	failed := errors.New("no answer")
	a := plan.Admin{
		Entry: &plan.Gate{}, Kind: "keyspace", Namespace: "b",
		Owners: func(context.Context) (plan.Owners, error) { return all, nil },
		Remove: func(context.Context, string, *plan.Owner) error { return failed },
	}
	_, err := a.Drop(t.Context())
	if !errors.Is(err, failed) || errors.Is(err, drivers.ErrForeign) {
		t.Errorf("a drop that fails: %v", err)
	}
}

// TestIsIn: a table that was copied to another place has the mark of the original.
func TestIsIn(t *testing.T) {
	m := plan.Mark{Namespace: "a", Schema: "james@one", Table: "x"}
	for place, want := range map[string]bool{
		"mailbench_a_james_one": true, "mailbench_a_james": false, "mailbench_b_james_one": false, "mailbench_james_one": false,
		"backup": false,
	} {
		if m.IsIn(place) != want {
			t.Errorf("the mark %+v is in %s: %v, want %v", m, place, !want, want)
		}
	}
}

// TestNamespaces: a namespace is all places whose tables have its mark, and as old as the oldest of them.
func TestNamespaces(t *testing.T) {
	size, sum, all := int64(100), int64(300), make(plan.Owners)
	for place, since := range map[string]int64{"mailbench_a_x": 20, "mailbench_a_y": 10, "mailbench_a_z": 30} {
		o := all.Of(place)
		o.Add("t", "a", true)
		o.Since, o.Bytes = time.Unix(since, 0), &size
	}
	all.Of("mailbench_b_x").Add("t", "b", true)
	all.Of("mailbench_b_x").Add("u", "b", true)
	all.Of("mailbench_b_y").Add("t", "b", true)
	all.Of("mailbench_c_x") // has no tables
	all.Of("mailbench_d_x").Add("t", "d", true)
	all.Of("mailbench_d_x").Add("theirs", "", false)
	all.Of("mailbench_x").Add("t", "", true) // in no namespace
	got := all.Namespaces()
	slices.SortFunc(got, func(a, b drivers.Namespace) int { return strings.Compare(a.Name, b.Name) })
	want := []drivers.Namespace{{Name: "a", Tables: 3, Since: time.Unix(10, 0), Bytes: &sum}, {Name: "b", Tables: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
