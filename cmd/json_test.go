package cmd

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// printed is the output of a command.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := execute(bundled(), args, &out, &errs); status != exitOK || errs.Len() > 0 {
		t.Fatalf("%v: status %d: %s", args, status, &errs)
	}
	return out.String()
}

// Every list has as JSON the names that its table has.
func TestListsAsJSON(t *testing.T) {
	t.Setenv("COLUMNS", "")
	for _, list := range []string{"models", "engine list", "workloads"} {
		args := strings.Fields(list)
		var names []string
		for line := range strings.Lines(printed(t, args...)) {
			names = append(names, strings.Fields(line)[0])
		}
		var all []struct{ Name, Description string }
		if err := json.Unmarshal([]byte(printed(t, append(args, "--json")...)), &all); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		var got []string
		for _, one := range all {
			if got = append(got, one.Name); one.Description == "" {
				t.Errorf("%s: %s has no description", list, one.Name)
			}
		}
		if len(got) < 2 || !slices.Equal(got, names[1:]) {
			t.Errorf("%s: JSON has %q and the table %q", list, got, names[1:])
		}
	}
	var v struct {
		Version, Go string
		CPUs        int // of the machine
	}
	if err := json.Unmarshal([]byte(printed(t, "version", "--json")), &v); err != nil || !strings.Contains(printed(t, "version"), v.Version+" (") || v.Go == "" || v.CPUs == 0 {
		t.Errorf("version: %+v, %v", v, err)
	}
	var e listedEngine
	if err := json.Unmarshal([]byte(printed(t, "engine", "show", "cassandra", "--json")), &e); err != nil || !e.Remote || len(e.Settings) < 2 || e.Settings[0].Name != "contact" {
		t.Errorf("engine: %+v, %v", e, err)
	}
	var several []listedEngine
	if err := json.Unmarshal([]byte(printed(t, "engine", "show", "all", "--json")), &several); err != nil || len(several) < 5 {
		t.Errorf("all engines: %+v, %v", several, err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if got := printed(t, "engine", "clean", "embedded", "--json", "--results", t.TempDir()); strings.TrimSpace(got) != "[]" {
		t.Errorf("what is left of nothing is %q", got)
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"run wor", "workday"},
		{"run -m jam", "james"},
		{"run -e embedded,cas", "embedded,cassandra"},
		{"run --durability p", "power"},
		{"run --verify=o", "only"},
		{"run workday --set popu", "population."},
		{"run workday --set phases.", "phases.measure."},
		{"run workday --set phases.measure.arr", "phases.measure.arrivals=poisson"},
		{"run workday --set engines.cassandra.consis", "engines.cassandra.consistency="},
		{"report --format j", "junit"},
		{"compare --format m", "markdown"},
		{"engine show hb", "hbase"},
		{"engine up hb", "hbase"},
		{"engine clean em", "embedded"},
		{"models orac", "oracle"},
		{"schema diff -e cas", "cassandra"},
		{"schema explain james uid", "uids"},
		{"compare --threshold p9", "p99"},
		{"run --fail-on missed,un", "missed,unclear"},
		{"workloads qu", "quick"},
	} {
		got := strings.Split(printedAll(t, append([]string{"__complete"}, strings.Fields(c.typed)...)...), "\n")
		if !slices.ContainsFunc(got, func(line string) bool {
			word, _, _ := strings.Cut(line, "\t")
			return word == c.want || strings.HasSuffix(word, "="+c.want)
		}) {
			t.Errorf("%s: no %s in %q", c.typed, c.want, got)
		}
	}
}

// printedAll is the output of a command without that on standard error.
func printedAll(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := execute(bundled(), args, &out, &errs); status != exitOK {
		t.Fatalf("%v: status %d: %s", args, status, &errs)
	}
	return out.String()
}

func TestTopics(t *testing.T) {
	for topic, want := range map[string]string{
		"operations": "  deliver        store a message", "output": "  overloaded  less was executed", "ranking": "Likely why: the counter",
	} {
		text := printed(t, "help", topic)
		if !strings.Contains(text, want) {
			t.Errorf("help %s has no %q:\n%s", topic, want, text)
		}
	}
}
