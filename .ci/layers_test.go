// Package main_test holds what is true of the project as a whole.
package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mailbench/mailbench/"

// layers say what a package may import of this module. The first line whose
// path matches counts; tests may import what tests adds. Imports go one way:
// cmd → reports → workloads → models → drivers → schemas. Only cmd knows the list of models,
// only cmd and the contract of models that of engines.
var layers = []struct {
	path    string
	imports []string
	tests   []string
}{
	{"drivers/private", nil, nil},
	{"drivers/crash", nil, nil},
	{"schemas/strict", nil, nil},
	{"schemas/words", nil, nil},
	{"schemas/plainfile", nil, nil},
	{"schemas/cql", nil, []string{"schemas"}},
	{"schemas/imports", []string{"schemas", "schemas/cql", "schemas/plainfile", "schemas/words"}, []string{"schemas/lint", "drivers", "drivers/engines"}},
	{"docs/rules", nil, nil},
	{"schemas/lint", []string{"docs/rules", "schemas", "schemas/forecast", "schemas/strict", "schemas/words"}, []string{"schemas/imports", "drivers", "drivers/*", "drivers/launch/live"}},
	{"schemas/forecast", []string{"schemas", "schemas/words"}, nil},
	{"schemas/diagram", []string{"schemas", "schemas/words"}, nil},
	{"schemas", []string{"schemas/strict"}, nil},
	{"drivers/launch/live", []string{"drivers/launch"}, nil},
	{"drivers/launch", []string{"drivers/private", "schemas/words"}, []string{"drivers/launch/live"}},
	{"drivers/keys", []string{"schemas", "drivers"}, nil},
	{"drivers/plan", []string{"schemas", "drivers", "drivers/crash", "drivers/keys"}, nil},
	{"drivers/render", []string{"schemas"}, nil},
	{"drivers", []string{"drivers/private", "schemas", "schemas/forecast", "schemas/plainfile", "schemas/strict"}, []string{"drivers/*"}},
	{"drivers/drivertest/paired", nil, []string{"schemas", "drivers", "drivers/*", "drivers/launch/live"}},
	{"drivers/validate", []string{"drivers/private", "drivers/pebble", "schemas", "schemas/words", "drivers", "drivers/crash"}, nil},
	{"drivers/engines", []string{"drivers", "drivers/*"}, nil},
	{"drivers/limited", []string{"schemas", "drivers", "drivers/cassandra", "drivers/hbase", "drivers/pebble", "drivers/plan"}, nil},
	{"drivers/cassandra/ddl", []string{"schemas", "schemas/cql", "schemas/forecast", "drivers", "drivers/plan", "drivers/render"}, nil},
	{
		"drivers/cassandra",
		[]string{
			"schemas", "schemas/cql", "schemas/forecast", "schemas/plainfile", "schemas/strict", "drivers", "drivers/crash", "drivers/keys",
			"drivers/plan", "drivers/cassandra/ddl",
		},
		[]string{"drivers/*", "drivers/*/*"},
	},
	{"drivers/hbase/rpc", []string{"drivers"}, nil},
	{
		"drivers/hbase",
		[]string{
			"schemas", "schemas/forecast", "drivers", "drivers/crash", "drivers/keys", "drivers/plan", "drivers/render",
			"drivers/hbase/rpc",
		},
		[]string{"drivers/*", "drivers/*/*"},
	},
	{"drivers/*", []string{"drivers/private", "schemas", "schemas/forecast", "schemas/plainfile", "drivers", "drivers/crash", "drivers/keys", "drivers/plan", "drivers/render"}, []string{"drivers/*", "drivers/*/*"}},
	{"models/mail", []string{"schemas/plainfile", "schemas/words"}, nil},
	{"models/blobs", []string{"drivers/private", "drivers"}, nil},
	{"models", []string{"schemas", "drivers", "models/mail"}, nil},
	{"models/audit", []string{"schemas", "drivers", "drivers/validate", "models"}, nil},
	{"models/modeltest", []string{"schemas", "drivers", "models", "models/audit", "models/mail", "drivers/*", "drivers/launch/live"}, []string{"models/*"}},
	{"models/describe", []string{"schemas", "schemas/diagram", "schemas/words", "drivers", "models"}, nil},
	{"models/*", []string{"schemas", "drivers", "models", "models/mail", "models/blobs"}, []string{"models/*", "drivers/*", "drivers/launch/live"}},
	{"workloads/latency", nil, []string{"drivers/launch/live"}},
	{"workloads/results", []string{"models", "workloads/growth", "workloads/latency", "workloads/scratch", "schemas/plainfile", "schemas/strict", "schemas/words"}, nil},
	{"workloads/trials", []string{"workloads/growth", "workloads/results"}, nil},
	{"workloads/answer", []string{"workloads/results", "workloads/trials", "schemas", "schemas/strict", "schemas/words"}, nil},
	{"reports/document", []string{"schemas/words"}, nil},
	{"reports/screen", []string{"reports/document", "schemas/words"}, nil},
	{"reports/ranking", []string{"reports/document", "workloads/growth", "workloads/results", "workloads/trials", "schemas/words"}, nil},
	{"reports/significance", []string{"workloads/results"}, nil},
	{"reports/compare", []string{"reports/document", "reports/significance", "workloads/growth", "workloads/results", "schemas/strict", "schemas/words"}, nil},
	{"reports/history", []string{"reports/document", "reports/significance", "workloads/results", "reports/compare", "schemas/words"}, nil},
	{"workloads/merge", []string{"workloads/results", "workloads/judge", "workloads/latency", "workloads/trials"}, nil},
	{"workloads/judge", []string{"workloads/results", "schemas/words"}, nil},
	{"workloads/search", []string{"workloads/results", "workloads/judge", "schemas/words"}, nil},
	{"workloads/meet", []string{"schemas", "drivers", "workloads/plan", "drivers/crash"}, []string{"drivers/*"}},
	{"workloads/ledger", []string{"drivers/private", "drivers", "models", "models/audit", "models/mail", "workloads/plan", "workloads/results", "drivers/crash"}, nil},
	{
		"workloads/subject",
		[]string{
			"drivers/private", "drivers/validate", "schemas", "schemas/words", "drivers", "models", "models/audit", "models/mail", "workloads",
			"workloads/plan",
			"drivers/crash", "workloads/ledger", "workloads/meet", "workloads/messages", "workloads/results", "workloads/scratch",
		},
		nil,
	},
	{
		"workloads/drive",
		[]string{
			"schemas", "drivers", "models", "models/mail", "workloads", "workloads/plan", "drivers/crash", "workloads/ledger", "workloads/messages",
			"workloads/subject",
			"workloads/judge", "workloads/latency", "workloads/results",
		},
		[]string{"workloads/random", "workloads/search"},
	},
	{
		"workloads/interrupt",
		[]string{
			"drivers", "drivers/cut", "drivers/validate", "models", "models/audit", "models/mail", "workloads/results", "workloads/ledger", "workloads/messages", "workloads/subject",
		},
		[]string{"models/*", "drivers/*", "drivers/launch/live", "workloads", "workloads/plan"},
	},
	{"workloads/growth", nil, nil},
	{"reports/metrics", []string{"workloads/results", "workloads/latency"}, nil},
	{"workloads/scratch", []string{"drivers/private"}, nil},
	{"reports/glossary", nil, nil},
	{"reports/page", []string{"reports", "reports/compare", "reports/document", "reports/glossary", "reports/ranking", "workloads/results", "workloads/trials", "schemas/words"}, []string{"schemas", "schemas/*", "reports/*", "workloads", "workloads/*", "models", "models/james", "drivers", "drivers/pebble"}},
	{"reports", []string{"workloads/answer", "reports/document", "workloads/growth", "workloads/judge", "workloads/latency", "reports/ranking", "workloads/results", "workloads/trials", "schemas/words", "schemas", "schemas/lint"}, nil},
	{
		"workloads/run",
		[]string{
			"drivers/private", "drivers/crash", "schemas", "schemas/forecast", "schemas/plainfile", "drivers", "models", "models/mail",
			"workloads", "workloads/*",
			"workloads/judge", "workloads/latency", "workloads/results", "workloads/scratch", "workloads/search", "workloads/trials", "schemas/words",
		},
		[]string{"models/*", "drivers/*", "drivers/launch/live", "reports", "reports/*"},
	},
	{
		"workloads/trace",
		[]string{"schemas", "schemas/words", "drivers", "models", "workloads", "workloads/run", "workloads/results"},
		[]string{"models/*", "drivers/*", "drivers/launch/live"},
	},
	{
		"workloads/population",
		[]string{
			"schemas", "schemas/forecast", "schemas/lint", "drivers", "models", "models/mail", "workloads", "workloads/plan",
			"workloads/messages",
		},
		[]string{"models/*", "drivers/*", "drivers/launch/live"},
	},
	{"workloads/replay", []string{"schemas/plainfile", "schemas/strict", "workloads", "workloads/plan"}, []string{"workloads/messages", "workloads/run", "models", "models/*", "drivers", "drivers/*", "workloads/results"}},
	{"workloads/fit", []string{"schemas/plainfile", "schemas/words", "models/mail", "workloads", "workloads/random", "workloads/replay"}, []string{"workloads/messages", "workloads/plan"}},
	{
		"workloads/keyspace",
		[]string{
			"schemas", "schemas/lint", "schemas/strict", "schemas/words", "drivers", "models", "models/mail", "workloads", "workloads/random",
			"workloads/results",
		},
		[]string{"drivers/*", "drivers/launch/live"},
	},
	{"workloads/random", []string{"schemas/strict"}, nil},
	{"workloads/messages", []string{"models/mail", "workloads", "workloads/plan", "workloads/random"}, nil},
	{"workloads/plan", []string{"workloads", "workloads/random"}, nil},
	{"workloads", []string{"schemas", "schemas/strict", "schemas/words", "workloads/answer", "workloads/results", "workloads/random"}, []string{"workloads/plan"}},
	{"cmd/mailbench", []string{"cmd"}, nil},
	{"cmd/newmodel", nil, nil},
	{"cmd/campaigns", nil, []string{"cmd", "*", "*/*", "*/*/*"}},
	{"cmd", []string{"*", "*/*", "*/*/*"}, nil},
}

// TestMain runs the tests in the folder of the project.
func TestMain(m *testing.M) {
	if err := os.Chdir(".."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestLayers(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < len(layers)/2 {
		t.Fatalf("go list found %d packages of the module; expected at least %d", len(packages), len(layers)/2)
	}
	for _, p := range packages {
		for _, fault := range p.faults() {
			t.Error(fault)
		}
	}
}

// TestLayersAreHeld shows that the check fails for forbidden imports.
func TestLayersAreHeld(t *testing.T) {
	for _, c := range [][2]string{
		{"schemas", "drivers"},
		{"drivers", "models"},
		{"drivers/pebble", "drivers/null"},
		{"drivers/null", "models/james"},
		{"models", "models/james"},
		{"models/mail", "models"},
		{"models/james", "drivers/pebble"},
		{"models/oracle", "models/james"},
		{"reports", "workloads"},
		{"workloads", "drivers"},
		{"workloads/run", "drivers/pebble"},
		{"workloads/drive", "workloads/run"},
		{"workloads/judge", "workloads"},
		{"workloads/answer", "reports/document"},
		{"workloads/results", "reports"},
		{"workloads", "workloads/plan"},
		{"workloads/merge", "reports"},
		{"workloads/run", "reports"},
		{"workloads/drive", "reports/page"},
		{"workloads/subject", "reports"},
		{"workloads/trace", "reports"},
		{"workloads/search", "reports"},
		{"workloads/trials", "reports/page"},
		{"workloads/latency", "reports"},
		{"cmd/mailbench", "models/james"},
		{"tools/dump", "schemas"},
	} {
		from, to := c[0], c[1]
		if got := (goPackage{ImportPath: module + from, Imports: []string{module + to}}).faults(); len(got) != 1 {
			t.Errorf("%s importing %s: faults %q, want one", from, to, got)
		}
	}
	if got := (goPackage{ImportPath: module + "models/james", TestImports: []string{module + "drivers/pebble", "fmt"}}).faults(); len(got) != 0 {
		t.Errorf("tests of a model may use an engine, but: %q", got)
	}
}

// testsOnly are packages that only tests, and each other, may import.
var testsOnly = []string{
	"drivers/drivertest", "drivers/drivertest/*", "drivers/faulty", "drivers/launch/live", "models/modeltest",
}

// TestTestsOnly: no product package imports what only tests need.
func TestTestsOnly(t *testing.T) {
	only := func(name string) bool {
		return slices.ContainsFunc(testsOnly, func(pattern string) bool { return matches(name, pattern) })
	}
	for _, p := range listPackages(t) {
		self := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			if other, ours := strings.CutPrefix(i, module); ours && only(other) && !only(self) {
				t.Errorf("%s must not import %s, which is for tests only", self, other)
			}
		}
	}
}

// ARCHITECTURE.md lists the folders, and packages import only of folders below their own. Each
// package says what it is for.
func TestLayersOfTheFolders(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "## The folders\n")
	list, _, _ = strings.Cut(list, "\n## ")
	rows := map[string]int{}
	for n, line := range strings.Split(list, "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "- `"), "`")
		if folder, _, _ := strings.Cut(name, "/"); strings.HasPrefix(line, "- `") && rows[folder] == 0 {
			rows[folder] = n + 1
		}
	}
	for _, p := range listPackages(t) {
		self := strings.TrimPrefix(p.ImportPath, module)
		folder, _, _ := strings.Cut(self, "/")
		if rows[folder] == 0 {
			t.Errorf("folder %s is not in the list of ARCHITECTURE.md", folder)
		}
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s does not say what it is for", self)
		}
		for _, i := range p.Imports {
			other, ours := strings.CutPrefix(i, module)
			if below, _, _ := strings.Cut(other, "/"); ours && rows[below] < rows[folder] {
				t.Errorf("%s imports %s, of a folder above its own in ARCHITECTURE.md", self, other)
			}
		}
	}
}

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath   string
	Doc          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,GoFiles,Imports,TestImports,XTestImports", "./...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			packages = append(packages, p)
		}
	}
}

// faults lists the imports that the package's layer forbids.
func (p goPackage) faults() []string {
	self := strings.TrimPrefix(p.ImportPath, module)
	for _, l := range layers {
		if !matches(self, l.path) {
			continue
		}
		faults := forbidden(self, p.Imports, l.imports)
		inTests := slices.Concat(l.imports, l.tests, []string{self})
		return append(faults, forbidden("tests of "+self, slices.Concat(p.TestImports, p.XTestImports), inTests)...)
	}
	return []string{fmt.Sprintf("package %s is in no layer; add a line to .ci/layers_test.go", self)}
}

func forbidden(who string, imports, allowed []string) []string {
	var faults []string
	expected := "nothing of this module"
	if len(allowed) > 0 {
		expected = "only " + strings.Join(allowed, ", ")
	}
	for _, i := range imports {
		other, ours := strings.CutPrefix(i, module)
		if ours && !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(other, pattern) }) {
			faults = append(faults, fmt.Sprintf("%s must not import %s; expected %s", who, other, expected))
		}
	}
	return faults
}

func matches(pkg, pattern string) bool {
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}
