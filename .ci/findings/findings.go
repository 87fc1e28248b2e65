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
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "findings:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	return errors.Join(page("docs/findings.md", only), page("docs/models.md", only))
}

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
	says := strings.Join(r.Answer, "\n")
	for _, end := range []string{"{smallest}", "{largest}"} {
		if ends := *r; strings.Contains(says, end) {
			ends.Answer = []string{end}
			says = strings.ReplaceAll(says, end, answer.Of(&ends)[0].Text)
		}
	}
	return out + table(answer.Of(r), strings.Split(says, "\n")), nil
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
func table(lines []answer.Line, says []string) (out string) {
	var models []string
	for _, l := range lines {
		if l.Model != "" && !slices.Contains(models, l.Model) {
			models = append(models, l.Model)
		}
	}
	list := ""
	for i := 0; i < len(lines); {
		of := map[string]string{} // the sentence, by model
		for ; i < len(lines) && lines[i].Model != "" && len(models) > 1 && of[lines[i].Model] == ""; i++ {
			of[lines[i].Model] = lines[i].Text
		}
		if len(of) == 0 {
			list += strings.Join(words.Wrap("- ", words.Markdown(lines[i].Text), 2, 140), "\n") + "\n"
			i++
			continue
		}
		said := slices.IndexFunc(says, func(s string) bool {
			return slices.ContainsFunc(models, func(m string) bool { return values(s, of[m]) != nil })
		})
		out += row(models, of, says[max(said, 0)])
		says = says[max(said, 0)+1:]
	}
	if out != "" {
		head := "| | " + words.Markdown(strings.Join(models, " / ")) + " |\n"
		out = head + strings.Repeat("|---", len(models)+1) + "|\n" + out + "\n"
		out = strings.Replace(out, " / ", " | ", len(models)-1)
	}
	return strings.TrimSpace(out+list) + "\n"
}

// metric is a metric in a sentence of a workload's answer.
var metric = regexp.MustCompile(`\{[^}]*\}`)

// values are the values in a sentence, by the metrics of its template, and at the end the note after it, if any.
func values(template, sentence string) []string {
	quoted := regexp.MustCompile(`s\b`).ReplaceAllString(regexp.QuoteMeta(metric.ReplaceAllString(template, "\x00")), "s?")
	form := regexp.MustCompile("^" + strings.ReplaceAll(quoted, "\x00", "(.+?)") + `( \(emulated: .*\))?$`)
	return form.FindStringSubmatch(sentence)
}

// row has the sentence once, with … where each model has a value.
func row(models []string, of map[string]string, template string) string {
	head, cells := metric.ReplaceAllString(strings.TrimSuffix(template, "."), "…"), ""
	for _, model := range models {
		found := values(template, of[model])
		cell := "not significant"
		if found == nil && !strings.HasSuffix(of[model], "do not differ significantly") {
			cell = of[model]
		} else if found != nil {
			note := len(found) - 1
			cell = strings.Join(found[1:note], ", ") + found[note]
		}
		cells += " | " + words.Markdown(cell)
	}
	return "| " + words.Markdown(head) + cells + " |\n"
}
