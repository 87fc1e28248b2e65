// Package mailbench_test holds what is true of the project as a whole.
package mailbench_test

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
// cmd → workloads/run → models → drivers → schemas. Only cmd knows the list of models,
// only cmd and the contract of models that of engines.
var layers = []struct {
	path    string
	imports []string
	tests   []string
}{
	{"drivers/private", nil, nil},
	{"drivers/crash", nil, nil},
	{"schemas/strict", nil, nil},
	{"schemas/lint", []string{"schemas", "schemas/strict"}, []string{"drivers", "drivers/*", "drivers/launch/live"}},
	{"schemas/forecast", []string{"schemas"}, nil},
	{"schemas/diagram", []string{"schemas"}, nil},
	{"schemas", []string{"schemas/strict"}, nil},
	{"drivers/launch/live", []string{"drivers/launch"}, nil},
	{"drivers/launch", []string{"drivers/private"}, []string{"drivers/launch/live"}},
	{"drivers/keys", []string{"schemas", "drivers"}, nil},
	{"drivers/plan", []string{"schemas", "drivers", "drivers/crash"}, nil},
	{"drivers/render", []string{"schemas"}, nil},
	{"drivers", []string{"schemas", "schemas/forecast"}, []string{"drivers/*"}},
	{"drivers/drivertest/paired", []string{"schemas", "drivers"}, []string{"drivers/*"}},
	{"drivers/validate", []string{"schemas", "drivers", "drivers/crash"}, []string{"drivers/pebble"}},
	{"drivers/engines", []string{"drivers", "drivers/*"}, nil},
	{"drivers/*", []string{"drivers/private", "schemas", "schemas/forecast", "drivers", "drivers/crash", "drivers/keys", "drivers/plan", "drivers/render"}, []string{"drivers/*", "drivers/*/*"}},
	{"models/mail", nil, nil},
	{"models", []string{"schemas", "drivers", "models/mail"}, nil},
	{"models/modeltest", []string{"schemas", "drivers", "models", "models/mail", "drivers/*", "drivers/launch/live"}, []string{"models/*"}},
	{"models/*", []string{"schemas", "drivers", "models", "models/mail"}, []string{"models/*", "drivers/*", "drivers/launch/live"}},
	{"reports/latency", nil, []string{"drivers/launch/live"}},
	{"reports/compare", []string{"reports", "reports/units"}, nil},
	{"reports/history", []string{"reports", "reports/compare", "reports/units"}, nil},
	{"reports/summary", []string{"reports", "reports/latency"}, nil},
	{"reports/merge", []string{"reports", "reports/judge", "reports/latency", "reports/summary"}, nil},
	{"reports/judge", []string{"reports", "reports/units"}, nil},
	{"reports/search", []string{"reports", "reports/judge", "reports/units"}, nil},
	{"workloads/meet", []string{"schemas", "drivers", "workloads", "drivers/crash"}, []string{"drivers/*"}},
	{"workloads/ledger", []string{"drivers/private", "drivers", "models", "models/mail", "reports", "drivers/crash"}, []string{"workloads"}},
	{
		"workloads/target",
		[]string{
			"drivers/private", "schemas", "drivers", "models", "models/mail", "workloads", "drivers/crash", "workloads/ledger", "workloads/meet", "workloads/messages", "reports",
		},
		nil,
	},
	{
		"workloads/drive",
		[]string{
			"schemas", "drivers", "models", "models/mail", "workloads", "drivers/crash", "workloads/ledger", "workloads/messages",
			"workloads/target",
			"reports", "reports/*",
		},
		[]string{"workloads/random"},
	},
	{"reports/growth", nil, nil},
	{"reports/metrics", []string{"reports", "reports/latency"}, nil},
	{"reports/scratch", []string{"drivers/private"}, nil},
	{"reports/units", nil, nil},
	{"reports/glossary", nil, nil},
	{"reports/page", []string{"schemas", "schemas/diagram", "reports", "reports/glossary", "reports/history", "reports/units"}, []string{"schemas/*", "reports/*", "workloads"}},
	{"reports", []string{"reports/growth", "reports/latency", "reports/scratch", "reports/units", "schemas"}, []string{"reports/judge"}},
	{
		"workloads/run",
		[]string{"drivers/private", "drivers/crash", "schemas", "drivers", "models", "models/mail", "workloads", "workloads/*", "reports", "reports/*"},
		[]string{"models/*", "drivers/*"},
	},
	{
		"workloads/trace",
		[]string{"schemas", "drivers", "models", "workloads", "workloads/run"},
		[]string{"models/*", "drivers/*", "drivers/launch/live"},
	},
	{
		"workloads/population",
		[]string{"schemas/forecast", "models", "models/mail", "workloads", "workloads/messages"},
		[]string{"schemas", "models/*", "drivers", "drivers/*", "drivers/launch/live"},
	},
	{
		"workloads/estimate",
		[]string{
			"schemas", "schemas/forecast", "drivers", "models", "workloads", "workloads/messages", "workloads/population", "workloads/random",
		},
		nil,
	},
	{"workloads/replay", []string{"schemas/strict", "workloads"}, []string{"workloads/messages", "workloads/run", "models", "models/*", "drivers", "drivers/*", "reports"}},
	{"workloads/fit", []string{"models/mail", "workloads", "workloads/random", "workloads/replay"}, []string{"workloads/messages"}},
	{"workloads/random", []string{"schemas/strict"}, nil},
	{"workloads/messages", []string{"models/mail", "workloads", "workloads/random"}, nil},
	{"workloads", []string{"schemas/strict", "workloads/random"}, nil},
	{"cmd/mailbench", []string{"cmd"}, nil},
	{"cmd/newmodel", nil, nil},
	{"cmd/gitbuild", nil, nil},
	{"cmd", []string{"*", "*/*", "*/*/*"}, nil},
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

// TestLayersAreHeld shows that the check fails for what it forbids.
func TestLayersAreHeld(t *testing.T) {
	for from, to := range map[string]string{
		"schemas":         "drivers",
		"drivers":         "models",
		"drivers/pebble":  "drivers/null",
		"drivers/null":    "models/james",
		"models":          "models/james",
		"models/mail":     "models",
		"models/james":    "drivers/pebble",
		"models/oracle":   "models/james",
		"reports":         "workloads",
		"workloads":       "drivers",
		"workloads/run":   "drivers/pebble",
		"workloads/drive": "workloads/run",
		"reports/judge":   "workloads",
		"reports/latency": "reports",
		"cmd/mailbench":   "models/james",
		"tools/dump":      "schemas",
	} {
		if got := (goPackage{ImportPath: module + from, Imports: []string{module + to}}).faults(); len(got) != 1 {
			t.Errorf("%s importing %s: faults %q, want one", from, to, got)
		}
	}
	if got := (goPackage{ImportPath: module + "models/james", TestImports: []string{module + "drivers/pebble", "fmt"}}).faults(); len(got) != 0 {
		t.Errorf("tests of a model may use an engine, but: %q", got)
	}
}

// The table of ARCHITECTURE.md has every package, and each imports those of its own row
// and of rows below it only.
func TestLayersOfTheTable(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| package | what it is |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]int{}
	for n, row := range strings.Split(table, "\n") {
		for i, name := range strings.Split(strings.Split(row+"||", "|")[1], "`") {
			if i%2 == 1 { // between quotes
				rows[name] = n + 1
			}
		}
	}
	packages := listPackages(t)
	for _, p := range packages {
		self := strings.TrimPrefix(p.ImportPath, module)
		if rows[self] == 0 {
			t.Errorf("package %s is in no row of the table in ARCHITECTURE.md", self)
		}
		for _, i := range p.Imports {
			if other, ours := strings.CutPrefix(i, module); ours && rows[other] < rows[self] {
				t.Errorf("%s imports %s, which is in a row above its own in ARCHITECTURE.md", self, other)
			}
		}
	}
	if len(rows) != len(packages) {
		t.Errorf("the table in ARCHITECTURE.md has %d packages, the module %d", len(rows), len(packages))
	}
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
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
	return []string{fmt.Sprintf("package %s is in no layer; add a line to layers_test.go and say in ARCHITECTURE.md what it is for", self)}
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
