package modeltest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// bulky is a message of several chunks.
func bulky(n int) *mail.Message {
	d := sample(n)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(1500, n)}}
	return d.Message()
}

// interruption is an operation that is killed, on up to two of the messages.
type interruption struct {
	name      string
	operation string
	messages  int
	prepare   string // another operation, which is not killed
}

// interruptions are the operations to kill, in the order of the golden file.
var interruptions = []interruption{
	{"create user", "create user", 0, ""},
	{"create folder", "create folder", 0, ""},
	{"deliver to 1", "deliver", 0, ""},
	{"deliver to 2", "deliver", 0, ""},
	{"flag", "flag", 1, ""},
	{"move 1", "move", 1, ""},
	{"move 2", "move", 2, ""},
	{"delete 1", "delete", 1, ""},
	{"delete 2", "delete", 2, ""},
	{"label", "label", 1, ""},
	{"unlabel", "label", 1, "label"},
	{"restore", "restore", 1, "delete"},
	{"purge", "purge", 1, "delete"},
	{"expunge 2", "expunge", 2, ""},
}

// interrupt runs an operation on the data of ann and bob, three messages in the inbox of each, and kills it after some
// writes, or refuses the next write. With -1 it runs the operation to its end. made are the patterns of the writes.
func (sc *scene) interrupt(op interruption, after int, refuses bool) (o result, made []string) {
	sc.TB.Helper()
	sc.fill([]string{"ann", "bob"}, bulky(0), bulky(1), bulky(2))
	k := &cut.Session{Session: sc.Session(), After: after, Refuses: refuses}
	c := sc.callOn(sc.makes, sc.accounts[0], sc.hs[1:1+op.messages]...)
	c.m = bulky(3)
	if op.name == "deliver to 2" {
		c.folders = append(slices.Clone(c.folders), sc.accounts[1].Folders[0])
	}
	if op.prepare != "" {
		sc.Must(the(op.prepare).run(c))
	}
	c.mb, c.on = sc.bound.Mailbox(k), op.name != "unlabel"
	if o.errs[0] = the(op.operation).run(c); after < 0 {
		sc.Must(o.errs[0])
	}
	sc.look(&o, "ann", "bob", "cat")
	for _, line := range o.view {
		if strings.Contains(line, unreadable) {
			sc.TB.Errorf("%s killed after %d writes: %s", op.name, after, line)
		}
	}
	return o, k.Made
}

// testInterrupted kills every operation after each of its writes, on the embedded engine and
// on the limited ones. A golden file has the faults that the audit then counts. The package
// comment of the model explains them. Users who take no part in the operation must see no
// difference. If the audit finds no fault, the operation must be complete or have changed
// nothing.
func testInterrupted(t *testing.T, s Suite) {
	t.Parallel()
	for _, e := range inProcess() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			schema, err := s.Model.Schema()
			must(t, err)
			s := s.onShared(t, opening(e, 0)(t, schema))
			var out strings.Builder
			offered := s.start(t, models.Options{}).mailbox()
			for _, op := range interruptions {
				if the(op.operation).in(offered) {
					killEverywhere(t, newScene(t, s, Sized(1000, 2)), op, &out)
				}
			}
			s.compare(t, "interrupted-"+e.Name+".golden", out.String())
		})
	}
}

func killEverywhere(t *testing.T, sc *scene, op interruption, out io.Writer) {
	t.Helper()
	before, _ := sc.interrupt(op, 0, false)
	after, writes := sc.interrupt(op, -1, false)
	fmt.Fprintf(out, "%s: %d writes\n", op.name, len(writes))
	for n := range writes {
		if n == 0 || writes[n] != writes[n-1] { // of several equal writes, it is enough to refuse one
			got, _ := sc.interrupt(op, n, true)
			switch err, fs := got.errs[0], got.counts.faults(); {
			case err == nil:
				t.Errorf("%s with write %d refused returned no error", op.name, n)
			case errors.Is(err, drivers.ErrUnknown):
			case !slices.Equal(got.view, before.view) || fs != "":
				t.Errorf("%s with write %d refused: %v, which is not unknown; and yet there is %q and\n%s", op.name, n, err, fs,
					strings.Join(got.view, "\n"))
			}
		}
		if n == 0 {
			continue
		}
		got, made := sc.interrupt(op, n, false)
		if got.errs[0] == nil {
			t.Errorf("%s killed after %d writes returned no error", op.name, n)
		}
		fmt.Fprintf(out, "\tafter %s: %s\n", made[n-1], cmp.Or(got.counts.since(before.counts).changes(), "as before"))
		for _, line := range before.view {
			if slices.Contains(after.view, line) && !slices.Contains(got.view, line) {
				t.Errorf("%s killed after %d writes: %s: not so any more", op.name, n, line)
			}
		}
		whole := got.counts.faults() == "" && got.counts.of("unreferenced") == before.counts.of("unreferenced")
		several := op.name == "create user" || strings.HasSuffix(op.name, " 2") // some of them may have changed
		if !several && whole && !slices.Equal(got.view, before.view) && !slices.Equal(got.view, after.view) {
			t.Errorf("%s killed after %d writes (%s): the audit finds nothing wrong with\n%s", op.name, n, made[n-1],
				strings.Join(got.view, "\n"))
		}
	}
	if w := after.counts.since(before.counts).changes(); w != "" {
		fmt.Fprintf(out, "\tafter all: %s\n", w)
	}
}
