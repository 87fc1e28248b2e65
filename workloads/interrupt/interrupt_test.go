package interrupt

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

func TestAsTheContractSays(t *testing.T) {
	for _, m := range []models.Model{conversation.Model(), datastax.Model(), elasticinbox.Model(), james.Model(), oracle.Model()} {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			asTheContractSays(t, m, pebble.Engine())
		})
	}
}

// The contract interrupts operations on the embedded engine with the limits of another; here it is that
// engine.
func TestAsTheContractSaysLive(t *testing.T) {
	for _, e := range []drivers.Engine{cassandra.Engine(), hbase.Engine()} {
		for _, m := range []models.Model{conversation.Model(), james.Model()} {
			t.Run(e.Name+"/"+m.Name, func(t *testing.T) { asTheContractSays(t, m, e) })
		}
	}
}

// asTheContractSays compares what a breaker finds with the model's golden file: it says what is left after
// each write of an operation on two messages of three chunks.
func asTheContractSays(t *testing.T, m models.Model, e drivers.Engine) {
	golden, err := os.ReadFile("../../models/" + m.Name + "/testdata/contract/interrupted-" + e.Name + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	all, err := All(t.Context(), target(t, m, e, "1700"), 2)
	if err != nil || len(all) != 2 || all[0].Op != move || all[1].Op != remove {
		t.Fatal(all, err)
	}
	for _, got := range all {
		want := section(t, string(golden), got.Op)
		if fmt.Sprint(counted(&got)) != fmt.Sprint(want) {
			t.Errorf("%s: %v, the golden file %v", got.Op, counted(&got), want)
		}
		if sum := got.None + got.Some + got.All + got.Twice + got.Lost; sum != got.Places || got.Lost > 0 {
			t.Errorf("%+v", got)
		}
	}
}

// counted are the numbers of a result that a golden file has, too.
func counted(r *results.Interrupted) map[string]int {
	n := map[string]int{
		"writes": r.Writes, "places": r.Places, "twice": r.Twice,
		"unreferenced": r.Unreferenced, "broken references": r.Dangling, "broken bodies": r.Broken, "counter drift": r.Drift,
	}
	if r.Op == remove { // of a move, the counts of messages are the same before and after
		n["some"], n["all"] = r.Some, r.All
	}
	return n
}

// section counts the lines of one operation on two messages in a golden file, a line a write.
func section(t *testing.T, golden, op string) map[string]int {
	_, text, found := strings.Cut("\n"+golden, "\n"+op+" 2: ")
	if !found {
		t.Fatalf("the golden file has no %s", op)
	}
	lines := strings.Split(text, "\n")
	n := map[string]int{"places": 0, "twice": 0, "unreferenced": 0, "broken references": 0, "broken bodies": 0, "counter drift": 0}
	if op == remove {
		n["some"], n["all"] = 0, 0
	}
	var writes int
	if _, err := fmt.Sscanf(lines[0], "%d writes", &writes); err != nil {
		t.Fatal(err)
	}
	n["writes"] = writes
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "\tafter ") {
			break
		}
		if strings.HasPrefix(line, "\tafter all") {
			continue
		}
		n["places"]++
		for key, mark := range map[string]string{"twice": "messages +", "some": "messages -1", "all": "messages -2"} {
			if _, ok := n[key]; ok && strings.Contains(line, mark) {
				n[key]++
			}
		}
		for _, fault := range []string{"unreferenced", "broken references", "broken bodies", "counter drift"} {
			if strings.Contains(line, fault) {
				n[fault]++
			}
		}
	}
	return n
}

// target is an empty store, with the small chunks of the contract.
func target(t *testing.T, m models.Model, e drivers.Engine, body string) *subject.Target {
	t.Helper()
	text := "version: 1\nname: test\nmail: {body: " + body + "}\npopulation: {users: 1, messages: 1}\n" +
		"phases: [load, {measure: {operations: 1, clients: 1, mix: {list: 1}}}]\n"
	if e.Remote {
		text += fmt.Sprintf("engines: {%s: {contact: %q}}\n", e.Name, live.Contact(t, e.Name))
	}
	w, err := workloads.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	census, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	target, err := subject.Open(t.Context(), subject.Config{
		Workload: w, Census: census, Mail: messages.NewGenerator(w), Model: m, Engine: e, Dir: t.TempDir(),
		Options: models.Options{Values: map[string]int{"chunk_size": 1000, "block_size": 1000, "overflow_after": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(context.Background()); err != nil || target.Left != "" {
			t.Error(err, target.Left)
		}
	})
	return target
}

// Mail with equal messages is refused.
func TestEqualMessages(t *testing.T) {
	_, err := All(t.Context(), target(t, oracle.Model(), pebble.Engine(), "0"), 2)
	if err == nil || err.Error() != "move of 2 messages, interrupted: the mail has not 2 messages with different bodies" {
		t.Errorf("err = %v", err)
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct {
		op       string
		from, to map[uint64]int
		want     results.Interrupted
	}{
		{move, map[uint64]int{1: 1, 2: 1}, nil, results.Interrupted{None: 1}},
		{move, map[uint64]int{1: 1}, map[uint64]int{2: 1}, results.Interrupted{Some: 1}},
		{move, nil, map[uint64]int{1: 1, 2: 1}, results.Interrupted{All: 1}},
		{move, map[uint64]int{1: 1, 2: 1}, map[uint64]int{2: 1}, results.Interrupted{Twice: 1}},
		{move, map[uint64]int{1: 2, 2: 1}, nil, results.Interrupted{Twice: 1}},
		{move, map[uint64]int{1: 1}, nil, results.Interrupted{Lost: 1}},
		{move, map[uint64]int{1: 1}, map[uint64]int{1: 1}, results.Interrupted{Lost: 1}},
		{remove, map[uint64]int{1: 1}, nil, results.Interrupted{Some: 1}},
		{remove, nil, nil, results.Interrupted{All: 1}},
	} {
		got := results.Interrupted{Op: c.op}
		*leaves(&got, []uint64{1, 2}, [2]map[uint64]int{c.from, c.to})++
		if c.want.Op = c.op; got != c.want {
			t.Errorf("%s, from %v to %v: %+v, want %+v", c.op, c.from, c.to, got, c.want)
		}
	}
}

// Each time the messages are the same: of these some have three chunks and some have four, and each
// chunk is a place.
func TestSameMessages(t *testing.T) {
	all, err := All(t.Context(), target(t, james.Model(), pebble.Engine(), "2100"), 2)
	if err != nil {
		t.Fatal(err)
	}
	// The move takes UIDs, writes chunks, replaces the rows and counts in both folders.
	if m := all[0]; m.Places != m.Writes-1 || m.Unreferenced != m.Writes-4 || m.Drift != 2 {
		t.Errorf("%+v", m)
	}
}
