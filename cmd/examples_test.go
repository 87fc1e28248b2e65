package cmd

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

// small makes any bundled workload one of a moment.
var small = []string{
	"--set", "population={users: 2, folders: 2, messages: 2}",
	"--set", "phases.warmup.duration=50ms", "--set", "phases.measure.duration=50ms", "--no-overhead", "--quiet", "--trials=1",
	"--fail-on=failed", // other tests run concurrently
}

// TestExamples runs the examples of every command's help, with less work.
func TestExamples(t *testing.T) {
	saved, err := filepath.Abs("../workloads/results/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	// A new model is one of a checkout, which is where it is made.
	if err := os.WriteFile("go.mod", module, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"results/monday", "results/tuesday"} {
		if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
			t.Fatal(err)
		}
	}
	run, err := os.ReadFile(filepath.Join(saved, results.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"cassandra", "hbase"} { // runs that a page shows together
		dir := filepath.Join("results", engine)
		of := bytes.ReplaceAll(run, []byte(`"embedded"`), []byte(`"`+engine+`"`))
		if err := errors.Join(os.CopyFS(dir, os.DirFS(saved)), os.WriteFile(filepath.Join(dir, results.RunFile), of, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var mbox bytes.Buffer
	w := gzip.NewWriter(&mbox)
	if _, err := io.WriteString(w, "From a@b\nSubject: one\n\nbody\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("archive.mbox.gz", mbox.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	quick, err := workloads.Bundled("quick")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("mine.yaml", quick.Source, 0o644); err != nil {
		t.Fatal(err)
	}
	root := newRoot(bundled())
	engine, _, err := root.Find([]string{"engine"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range slices.Concat([]*cobra.Command{root}, root.Commands(), engine.Commands()) {
		if cmd.Name() != "help" && cmd.Name() != "completion" && cmd.Name() != "schema" && cmd.Name() != "workload" && cmd.Name() != "operations" && cmd.Name() != "output" && cmd.Name() != "ranking" {
			examples(t, cmd)
		}
	}
}

// TestSchemaExamples runs those of the schema commands, where mine.yaml is a schema.
func TestSchemaExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	james, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"mine.yaml": james.Source, "archive.mbox": []byte("From a@b\nSubject: one\n\nbody\n"),
		"schema.cql": []byte("-- rows: {each: order, per: {day: 10}, sizes: {total: 4}}\n" +
			"CREATE TABLE shop.orders (id uuid PRIMARY KEY, total decimal);"),
		"queries.cql":      []byte("SELECT total FROM shop.orders WHERE id = ?"),
		"migrations/1.cql": []byte("CREATE TABLE app.orders (id uuid PRIMARY KEY, total decimal);"),
		"src/queries.cql":  []byte("SELECT total FROM app.orders WHERE id = ?"),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	schema, _, err := newRoot(bundled()).Find([]string{"schema"})
	if err != nil {
		t.Fatal(err)
	}
	// Import writes shop.yaml, and other examples read it.
	for _, importing := range []bool{true, false} {
		for _, cmd := range append(schema.Commands(), schema) {
			if (cmd.Name() == "import") == importing {
				examples(t, cmd)
			}
		}
	}
}

// examples runs the examples of one command's help.
func examples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if !strings.HasPrefix(cmd.Example, "  mailbench") {
		t.Errorf("%s: no example", cmd.CommandPath())
	}
	for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n    ", "")) {
		example(t, strings.TrimSpace(line))
	}
}

// example runs one line: commands joined by && whose output may go to a file,
// and then, after several spaces, its purpose.
func example(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "   ")
	for command := range strings.SplitSeq(line, " && ") {
		command, file, _ := strings.Cut(command, " > ")
		args, err := shellquote.Split(command)
		if err != nil {
			t.Fatalf("example %q: %v", line, err)
		}
		if args[0] != "mailbench" {
			t.Errorf("example %q: not a command of mailbench", line)
			return
		}
		args = args[1:]
		if at := slices.Index(args, "--data"); at >= 0 {
			args[at+1] = "data"
		}
		store := len(args) > 1 && args[0] == "schema" && (slices.Contains([]string{"diff", "validate"}, args[1]) ||
			args[1] == "import" && slices.Contains(args, "-e"))
		// A search takes as long as the machine is slow; the scripts have a short one.
		operationsOf := slices.ContainsFunc([]string{"--live", "--find-max", "--segment", "--prove"}, func(f string) bool { return slices.Contains(args, f) })
		if len(args) > 0 && (args[0] == "engine" || args[0] == "compare" || args[0] == "history" || args[0] == "merge") || store || operationsOf {
			understood(t, line, args)
			continue
		}
		if len(args) > 0 && args[0] == "run" {
			args = append(args, small...)
			if !slices.Contains(args, "-m") {
				args = append(args, "-m", "james") // the scripts run all models
			}
		}
		var out, errs bytes.Buffer
		if status := execute(bundled(), args, &out, &errs); status != exitOK || errs.Len() > 0 || (out.Len() == 0 && !strings.Contains(line, " -o ") && !strings.Contains(line, " github")) {
			t.Errorf("example %q: status %d, %d bytes of output, and:\n%s", line, status, out.Len(), errs.Bytes())
		}
		if file != "" {
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// understood checks an example that needs a real engine or a data set: its command,
// its flags and its arguments are known.
func understood(t *testing.T, line string, args []string) {
	t.Helper()
	cmd, rest, err := newRoot(bundled()).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("example %q: %v", line, err)
	}
}
