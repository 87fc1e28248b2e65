package cmd

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"
)

// ciFiles is the folder of the files that users copy into their repositories.
const ciFiles = "../docs/ci"

// workflow has the fields of a GitHub Actions workflow that the tests read.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct{ Name, Uses, If, Shell, Run string }
	}
}

func readWorkflow(t interface{ Fatal(...any) }, file string) (w workflow, text string) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(b, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, string(b)
}

// TestWorkflow: all actions are pinned by commit, no job may more than it says, and what runs code
// of a pull request cannot write to the repository.
func TestWorkflow(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(ciFiles, "*.yml"))
	own, err2 := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || err2 != nil || len(files) == 0 || len(own) == 0 {
		t.Fatalf("no workflows, %v, %v", err, err2)
	}
	for _, file := range append(files, own...) {
		t.Run(filepath.Base(file), func(t *testing.T) { checkWorkflow(t, file) })
	}
}

func checkWorkflow(t *testing.T, file string) {
	w, text := readWorkflow(t, file)
	pinned := regexp.MustCompile(`(?m)uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	if uses := strings.Count(text, "uses:"); uses == 0 || len(pinned.FindAllString(text, -1)) != uses {
		t.Errorf("of %d actions these are pinned by commit, with their version behind: %q", uses, pinned.FindAllString(text, -1))
	}
	// A version "latest" was not tried, and needs a release.
	if n := strings.Count(text, "\n          path: .mailbench\n"); strings.Contains(text, "@latest") ||
		n != strings.Count(text, "run: go install -C .mailbench ./cmd/mailbench\n") {
		t.Errorf("mailbench is not built from a checkout (%d of it)", n)
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("permissions of all jobs are %v, want to read contents only", w.Permissions)
	}
	if len(w.Jobs) == 0 {
		t.Error("there are no jobs")
	}
	for name, job := range w.Jobs {
		if len(job.Permissions) == 0 {
			t.Errorf("job %s does not say what it may", name)
		}
		writes := slices.Contains(slices.Collect(maps.Values(job.Permissions)), "write")
		for _, s := range job.Steps {
			if writes && strings.Contains(text, "pull_request") && (s.Uses != "" || strings.Contains(s.Run, "docs/ci")) {
				t.Errorf("job %s may write, and runs %s%s", name, s.Uses, s.Run)
			}
		}
	}
}

// stepsOf N FILE JOB runs the commands of a job as GitHub does and checks the exit status of
// the first that fails. The summary is in the file summary then, the outputs in outputs. One
// trial is an example of all.
func stepsOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: steps N FILE JOB")
	}
	w, _ := readWorkflow(fatal{ts}, ts.MkAbs(args[1]))
	for name, file := range map[string]string{"GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "outputs"} {
		ts.Check(os.RemoveAll(ts.MkAbs(file)))
		ts.Setenv(name, ts.MkAbs(file))
	}
	ts.Setenv("RUNNER_TEMP", ts.Getenv("WORK"))
	var failed error
	ran := 0
	for _, s := range w.Jobs[args[2]].Steps {
		if s.Run == "" || failed != nil && !strings.Contains(s.If, "!cancelled()") {
			continue
		}
		ran++
		run := strings.ReplaceAll(s.Run, "--trials 10", "--trials 1")
		if err := ts.Exec("bash", slices.Concat(shells[s.Shell], []string{"-c", run})...); failed == nil {
			failed = err
		}
	}
	if ran == 0 {
		ts.Fatalf("no step of job %s of %s runs anything", args[2], args[1])
	}
	checkStatus(ts, args[0], failed)
	checkClean(ts)
}

// shells are the flags of bash by the shell that a step names.
var shells = map[string][]string{"": {"-e"}, "bash": {"-eo", "pipefail"}}

type fatal struct{ ts *testscript.TestScript }

func (f fatal) Fatal(args ...any) { f.ts.Fatalf("%v", args) }
