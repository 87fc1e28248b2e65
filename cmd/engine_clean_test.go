package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// cluster is an engine over the network that holds nothing but namespaces.
type cluster struct {
	drivers.Store
	namespaces map[string]bool
	namespace  string // of this connection
	opened     drivers.Options
}

func (c *cluster) engine(name string) drivers.Engine {
	return drivers.Engine{
		Name: name, Doc: "a cluster for tests", Remote: true,
		Settings:    []drivers.Setting{{Name: "consistency", Default: "QUORUM", Doc: "ONE or QUORUM"}},
		Environment: []drivers.Setting{{Name: "MAILBENCH_TEST_PASSWORD", Doc: "password"}},
		Open: func(_ context.Context, o drivers.Options) (drivers.Store, error) {
			c.namespace, c.opened = o.Namespace, o
			return c, nil
		},
	}
}

func (c *cluster) Drop(context.Context) (string, error) {
	if c.namespace == "stuck" {
		return "", errors.New("a node is down")
	}
	delete(c.namespaces, c.namespace)
	return "", nil
}

// Namespaces implements drivers.Admin: the first is two hours old and has two tables.
func (c *cluster) Namespaces(context.Context) (all []drivers.Namespace, err error) {
	for name := range c.namespaces {
		n, size := drivers.Namespace{Name: name}, int64(3<<20)
		if name == "one" {
			n = drivers.Namespace{Name: name, Tables: 2, Bytes: &size, Since: time.Now().Add(-2 * time.Hour)}
		}
		all = append(all, n)
	}
	return all, nil
}

func firstWords(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.Fields(line)[0])
	}
	return all
}

// TestCleanSaysWhose: the list has the facts that the engine reports, and whether a run on this machine uses a
// namespace, or was killed.
func TestCleanSaysWhose(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c := &cluster{namespaces: map[string]bool{"one": true, "live": true, "dead": true}}
	for _, name := range []string{"live", "dead"} {
		folder := filepath.Join(temp, "mailbench-"+name)
		set := filepath.Join(folder, "james-test")
		if err := os.MkdirAll(set, 0o700); err != nil {
			t.Fatal(err)
		}
		claimed, err := scratch.Claim(folder)
		if err != nil {
			t.Fatal(err)
		}
		if name == "dead" {
			err = claimed.Close()
		}
		defer claimed.Close()
		note := fmt.Sprintf(`{"model": "james", "namespace": %q, "began": %q}`, name, time.Now().Add(-time.Minute).Format(time.RFC3339Nano))
		if err := errors.Join(err, os.WriteFile(filepath.Join(set, "dataset.json"), []byte(note), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := cleaned(t, c.engine("test"), &workloads.Workload{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^NAMESPACE +TABLES +SIZE +AGE +OWNER +STATE$`,
		`(?m)^dead +- +- +1m0s +` + temp + `/mailbench-dead +run was killed$`,
		`(?m)^live +- +- +1m0s +` + temp + `/mailbench-live +run goes on$`,
		`(?m)^one +2 +3\.15MB +2h0m0s +- +kept by --data, or of another machine$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if out, err = cleaned(t, c.engine("test"), &workloads.Workload{}, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"namespace": "dead",\s+"since": "20[^"]+Z",\s+"owner": "` + temp + `/mailbench-dead",\s+"state": "run was killed"`,
		`"namespace": "one",\s+"tables": 2,\s+"bytes": 3\d+,\s+"since": "20[^"]+Z",\s+"state": "kept by --data`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// cleaned is what engine clean prints of an engine's namespaces, as JSON or text, or of those that it drops.
func cleaned(t *testing.T, e drivers.Engine, w *workloads.Workload, asJSON bool, names ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetContext(t.Context())
	cmd.Flags().Bool("json", asJSON, "")
	err := cleanNamespaces(cmd, e, w, names)
	return out.String(), err
}

func (c *cluster) Close() error { return nil }

func TestContact(t *testing.T) {
	a, b, embedded := (&cluster{}).engine("a"), (&cluster{}).engine("b"), drivers.Engine{Name: "embedded"}
	for _, tc := range []struct {
		name    string
		engines []drivers.Engine
		hosts   []string
		err     string
	}{
		{"none given", []drivers.Engine{a, b}, nil, ""},
		{"one remote engine", []drivers.Engine{embedded, a}, []string{"h1", "h2:9042"}, ""},
		{"no remote engine", []drivers.Engine{embedded}, []string{"h"}, "--contact h: none of the engines named is reached over the network; name one with --engine"},
		{"two remote engines", []drivers.Engine{a, b}, []string{"h"}, "--contact h: the engine is ambiguous (a, b); set the address of each with --set engines.NAME.contact=HOST"},
		{"no port", []drivers.Engine{a}, []string{"h:x"}, `--contact: "h:x" has the port "x"; expected a number from 1 to 65535`},
		{"a password", []drivers.Engine{a}, []string{"u:p@h"}, "--contact: an address has no user and no password; set them in the environment"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			more, err := contactOverride(tc.engines, tc.hosts)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err || exitStatus(err) != exitUsage {
					t.Errorf("error %v, status %d; want %s", err, exitStatus(err), tc.err)
				}
				return
			}
			w, werr := workloads.Bundled("quick", append([]string{"engines.a.consistency=ONE"}, more...)...)
			if err != nil || werr != nil {
				t.Fatal(err, werr)
			}
			if got := w.Engines["a"]; err != nil || !slices.Equal(got.Contact, tc.hosts) || got.Settings["consistency"] != "ONE" {
				t.Errorf("error %v, engine %+v", err, got)
			}
		})
	}
}

func TestDescribeEngine(t *testing.T) {
	var out bytes.Buffer
	known := registry{engines: []drivers.Engine{(&cluster{}).engine("test")}}
	if status := execute(known, []string{"engine", "show", "test"}, &out, &out); status != exitOK {
		t.Fatalf("status %d: %s", status, out.String())
	}
	for _, line := range []string{
		"test: a cluster for tests",
		"SETTING      DEFAULT       DESCRIPTION",
		"contact      this machine  its nodes: HOST, HOST:PORT or a list of them; also --contact",
		"consistency  QUORUM        ONE or QUORUM",
		"MAILBENCH_TEST_PASSWORD  password",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
}

func TestClean(t *testing.T) {
	c := &cluster{namespaces: map[string]bool{}}
	e, w := c.engine("test"), &workloads.Workload{Engines: map[string]*workloads.Engine{"test": {Contact: []string{"h:1"}}}}
	cleaned := func(names ...string) (string, error) { return cleaned(t, e, w, false, names...) }
	if out, err := cleaned(); err != nil || out != "nothing of mailbench is on test\n" {
		t.Errorf("of an empty cluster: %q, %v", out, err)
	}
	for _, name := range []string{"two", "one", "stuck"} {
		c.namespaces[name] = true
	}
	if out, err := cleaned(); err != nil || strings.Join(firstWords(out), " ") != "NAMESPACE one stuck two" || c.opened.Contact[0] != "h:1" {
		t.Errorf("list: %q, %v, opened with %+v", out, err, c.opened)
	}
	// A name that is not there drops none of the others.
	if out, err := cleaned("one", "tow"); out != "" || exitStatus(err) != exitUsage || err.Error() != `unknown namespace of test "tow"; did you mean "two"?` {
		t.Errorf("a misspelt name: %q, %v", out, err)
	}
	if len(c.namespaces) != 3 {
		t.Errorf("dropped: %v are left", c.namespaces)
	}
	if out, err := cleaned("one"); err != nil || out != "dropped one\n" || c.namespaces["one"] || !c.namespaces["two"] {
		t.Errorf("one: %q, %v, %v are left", out, err, c.namespaces)
	}
	if _, err := cleaned("stuck"); err == nil || err.Error() != "drop namespace stuck of test: a node is down" || exitStatus(err) != exitFailed {
		t.Errorf("what cannot be dropped: %v", err)
	}
}
