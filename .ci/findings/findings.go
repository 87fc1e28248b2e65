// Findings measures the values of docs/findings.md and docs/models.md again. In these files a line
//
//	<!-- findings: run overflow -e embedded -->
//
// begins values, and <!-- end --> ends them. The program runs bin/mailbench with these words and puts the
// command and the sentences of its answer between the two, or the cost of each operation if the workload has no
// answer. Where a command names an engine over the network
// that is not up ("mailbench engine up cassandra"), the figures stay as they are, and the program fails at its
// end. With words, it makes only commands that have one of them.
//
//	go run ./.ci/findings [WORD...]
package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/results"
)

const (
	begin = "<!-- findings: "
	end   = "<!-- end -->"
)

func main() {
	only := os.Args[1:]
	if err := errors.Join(page("docs/findings.md", only), page("docs/models.md", only)); err != nil {
		fmt.Fprintln(os.Stderr, "findings:", err)
		os.Exit(1)
	}
}

// page measures the values of one file again.
func page(file string, only []string) error {
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
		named := func(w string) bool { return slices.Contains(only, w) }
		if len(only) > 0 && !slices.ContainsFunc(strings.Fields(args), named) {
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
		// Measured values stay if a later command fails.
		if err := os.WriteFile(file, []byte(strings.Join(parts, begin)), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(stay...)
}

// figures runs a command and writes its answer.
func figures(args, dir string) (string, error) {
	fmt.Println("mailbench", args)
	line := append(strings.Fields(args), "-o", dir, "--fail-on=failed", "-q")
	cmd := exec.Command("bin/mailbench", line...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	r, err := results.Open(dir)
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("```console\n$ bin/mailbench %s\n```\n\n", args)
	if len(r.Answer) == 0 {
		return out + operations(r), nil
	}
	return out + table(answer.Of(r)), nil
}

// operations has the cost of each operation in the phase measure of a run of one model.
func operations(r *results.Run) string {
	out := "| operation | access patterns (requests of each) | requests | rows scanned | KB read | KB written |\n|---|---|--:|--:|--:|--:|\n"
	for _, c := range r.Cells {
		if c.Phase != "measure" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Ops)) {
			op := c.Ops[name]
			if op.Count == 0 {
				continue
			}
			var patterns []string
			for _, p := range op.Patterns {
				if p.Requests >= 0.01 {
					patterns = append(patterns, fmt.Sprintf("`%s` %s", p.Name, words.Digits(p.Requests)))
				}
			}
			scanned := "-"
			if op.Store.RowsScanned != nil {
				scanned = words.Digits(*op.Store.RowsScanned)
			}
			out += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", name, strings.Join(patterns, ", "),
				words.Digits(op.Store.Requests), scanned,
				words.Digits(op.Store.BytesRead/1000), words.Digits(op.Store.BytesWritten/1000))
		}
	}
	return out
}

// table has a row for each sentence and a column for each model. Sentences of one model are a list.
func table(lines []answer.Line) (out string) {
	several := slices.DeleteFunc(slices.Clone(lines), func(l answer.Line) bool { return l.Model == "" })
	models := results.Distinct(several, func(l answer.Line) string { return l.Model })
	list := ""
	for _, said := range results.Grouped(lines, func(l answer.Line) [2]string { return [2]string{l.Engine, l.Form} }) {
		if said[0].Model == "" || len(models) == 1 {
			for _, l := range said {
				list += strings.Join(words.Wrap("- ", words.Markdown(l.Text), 2, 140), "\n") + "\n"
			}
			continue
		}
		for one := range slices.Chunk(said, len(models)) { // sentences that differ in their metrics; each model says it
			out += "| " + words.Markdown(strings.TrimSuffix(one[0].Form, "."))
			for _, l := range one {
				cell := cmp.Or(l.Values, l.Text)
				if strings.HasSuffix(cell, "do not differ significantly") {
					cell = "not significant"
				}
				out += " | " + words.Markdown(cell)
			}
			out += " |\n"
		}
	}
	if out != "" {
		head := "| | " + words.Markdown(strings.Join(models, " / ")) + " |\n"
		out = head + strings.Repeat("|---", len(models)+1) + "|\n" + out + "\n"
		out = strings.Replace(out, " / ", " | ", len(models)-1)
	}
	return strings.TrimSpace(out+list) + "\n"
}
