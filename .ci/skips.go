// skips prints what "go test -json" writes as "go test" would print it, and notes which tests
// were skipped. With -expected it prints what was noted.
//
//	go test -json ./... | skips -note skipped.txt
//	skips -note skipped.txt -expected .ci/skips.txt
//
// The expected file has one test a line: a regular expression for package/test, blanks, and why
// the test may be skipped. With -strict another skipped test is an error.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is a line of "go test -json": see "go doc test2json".
type event struct {
	Action, Package, Test, Output string
}

var (
	note     = flag.String("note", "", "`FILE` of skipped tests, to which lines are added")
	expected = flag.String("expected", "", "`FILE` of the tests that may be skipped: print what was noted, and read no events")
	strict   = flag.Bool("strict", false, "fail if another test was skipped")
)

func main() {
	flag.Parse()
	f, err := os.OpenFile(*note, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	ok := true
	if err == nil && *expected == "" {
		err = read(os.Stdin, os.Stdout, f)
	} else if err == nil {
		ok, err = report(f, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// read prints the output of tests that failed and of packages, and notes the tests that were
// skipped, each in a line with its reason.
func read(from io.Reader, to, skipped io.Writer) error {
	output := map[event][]string{} // by package and test, until the test has ended
	lines := bufio.NewReader(from)
	for {
		line, rerr := lines.ReadBytes('\n')
		var e event
		if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
			if _, err := to.Write(line); err != nil { // a message of the go command
				return err
			}
		}
		of := event{Package: e.Package, Test: e.Test}
		switch e.Action {
		case "output":
			output[of] = append(output[of], e.Output)
		case "build-output":
			fmt.Fprint(to, e.Output)
		case "skip":
			if e.Test != "" {
				if _, err := fmt.Fprintf(skipped, "%s/%s\t%s\n", e.Package, e.Test, reason(output[of])); err != nil {
					return err
				}
			}
			if e.Test == "" { // no test files
				show(to, output[of])
			}
			delete(output, of)
		case "pass":
			if e.Test == "" {
				show(to, output[of])
			}
			delete(output, of)
		case "fail":
			if e.Test == "" { // what has not ended shows where it was
				for _, left := range slices.SortedFunc(maps.Keys(output), func(a, b event) int { return strings.Compare(b.Test, a.Test) }) {
					if left.Package == e.Package && left.Test != "" {
						show(to, output[left])
						delete(output, left)
					}
				}
			}
			show(to, output[of])
			delete(output, of)
		}
		if rerr == io.EOF {
			return nil
		}
		if rerr != nil {
			return rerr
		}
	}
}

// show prints output without the lines that tell that a test begins or goes on.
func show(to io.Writer, output []string) {
	for _, line := range output {
		if !strings.HasPrefix(line, "=== ") && line != "PASS\n" {
			fmt.Fprint(to, line)
		}
	}
}

var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason is the last line that a skipped test wrote.
func reason(output []string) string {
	last := ""
	for _, line := range output {
		if place.MatchString(line) {
			last = strings.TrimSpace(place.ReplaceAllString(line, ""))
		}
	}
	return last
}

// most is how many tests are printed with one reason, unless -strict is given.
const most = 5

// report prints the tests that were noted, by reason. It returns false if one of them is not
// expected and -strict is given.
func report(skipped io.Reader, to io.Writer) (bool, error) {
	var may []*regexp.Regexp
	text, err := os.ReadFile(*expected)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			r, err := regexp.Compile("^(?:" + words[0] + ")$")
			if err != nil {
				return false, fmt.Errorf("%s: %w", *expected, err)
			}
			may = append(may, r)
		}
	}
	reasons := map[string]string{} // by test
	lines := bufio.NewScanner(skipped)
	for lines.Scan() {
		test, why, _ := strings.Cut(lines.Text(), "\t")
		reasons[test] = why
	}
	tests, others := map[string][]string{}, 0 // by reason
	for _, test := range slices.Sorted(maps.Keys(reasons)) {
		mark := "  "
		if !slices.ContainsFunc(may, func(r *regexp.Regexp) bool { return r.MatchString(test) }) {
			mark = "! "
			others++
		}
		tests[reasons[test]] = append(tests[reasons[test]], mark+strings.TrimPrefix(test, "github.com/mailbench/mailbench/"))
	}
	fmt.Fprintf(to, "=== %d tests skipped, %d of them not named in %s (!)\n", len(reasons), others, *expected)
	for _, why := range slices.Sorted(maps.Keys(tests)) {
		few, more := tests[why], ""
		if len(few) > most && !*strict {
			few, more = few[:most], fmt.Sprintf("\n    and %d more", len(few)-most)
		}
		fmt.Fprintf(to, "%s:\n  %s%s\n", why, strings.Join(few, "\n  "), more)
	}
	if *strict && others > 0 {
		fmt.Fprintf(to, "make test: %d tests were skipped that %s does not name\n", others, *expected)
		return false, lines.Err()
	}
	return true, lines.Err()
}
