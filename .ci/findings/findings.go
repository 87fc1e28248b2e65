// Findings makes the figures of docs/findings.md again. In that file a line
//
//	<!-- findings: run overflow -e embedded -->
//
// begins figures, and <!-- end --> ends them. The program runs bin/mailbench with these words and puts the
// command and the sentences of its answer between the two. Where a command names an engine over the network
// that is not up ("mailbench engine up cassandra"), the figures stay as they are, and the program fails at its
// end. With words, it makes only commands that have one of them.
//
//	go run ./.ci/findings [WORD...]
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

const (
	file  = "docs/findings.md"
	begin = "<!-- findings: "
	end   = "<!-- end -->"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "findings:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "findings")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	parts := strings.Split(string(text), begin)
	var stay []error
	for i := 1; i < len(parts); i++ {
		args, rest, ok := strings.Cut(parts[i], " -->\n")
		_, behind, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return fmt.Errorf("%s: %s%s has no %s", file, begin, args, end)
		}
		if len(only) > 0 && !slices.ContainsFunc(strings.Fields(args), func(w string) bool { return slices.Contains(only, w) }) {
			continue
		}
		made, err := figures(args, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil && strings.Contains(args, " -e ") && parts[i] != args+" -->\n"+end+behind {
			stay = append(stay, fmt.Errorf("mailbench %s: %w; its figures stay", args, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("mailbench %s: %w", args, err)
		}
		parts[i] = args + " -->\n" + made + end + behind
		// What was made stays if a later command fails.
		if err := os.WriteFile(file, []byte(strings.Join(parts, begin)), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(stay...)
}

// figures runs a command and writes its answer.
func figures(args, dir string) (string, error) {
	fmt.Println("mailbench", args)
	cmd := exec.Command("bin/mailbench", append(strings.Fields(args), "-o", dir, "--no-floor", "--fail-on=failed", "-q")...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	r, err := results.Open(dir)
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("```console\n$ bin/mailbench %s\n```\n\n", args)
	for _, s := range reports.Answers(r, reports.NamesIn(r)) {
		out += strings.Join(words.Wrap("- ", words.Markdown(s), 2, 140), "\n") + "\n"
	}
	return out, nil
}
