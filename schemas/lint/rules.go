package lint

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
)

// RulesNamed returns the rules with the ids given, or all rules.
func RulesNamed(ids ...string) ([]*Rule, error) {
	all := Rules()
	if len(ids) == 0 {
		return all, nil
	}
	byID := make(map[string]*Rule)
	var known []string
	for _, r := range all {
		byID[r.ID] = r
		known = append(known, r.ID)
	}
	var named []*Rule
	for _, id := range ids {
		r := byID[id]
		if r == nil {
			near := strict.Nearest(id, known)
			if near == "" {
				return nil, fmt.Errorf("unknown rule %q; schema lint --rules lists them", id)
			}
			return nil, fmt.Errorf("unknown rule %q; did you mean %q?", id, near)
		}
		named = append(named, r)
	}
	return named, nil
}

// WriteRules writes the documentation of rules.
func WriteRules(w io.Writer, rules []*Rule) error {
	b := bufio.NewWriter(w)
	for i, r := range rules {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "%s (%s%s)\n", r.ID, r.Severity, r.about())
		for _, part := range [][2]string{{"", r.Doc}, {"Do: ", r.Do}, {"Source: ", r.Source}, {"Page: ", r.Page()}} {
			wrap(b, indent, part[0]+part[1], 80)
		}
	}
	return b.Flush()
}

// page is where docs/rules/README.md of this repository can be read.
const page = "https://github.com/mailbench/mailbench/blob/main/docs/rules/README.md"

// Page is the address of the rule's documentation.
func (r *Rule) Page() string { return page + "#" + r.ID }

// pageWidth is how wide the lines of the page of rules are.
const pageWidth = 138

// WriteRulesMarkdown writes the documentation of rules as docs/rules/README.md has it.
func WriteRulesMarkdown(w io.Writer, rules []*Rule) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, `# Rules of schema lint

What `+"`mailbench schema lint`"+` looks for in a schema, why, and what to do about it. A table or pattern accepts findings of a rule with the
reason: `+"`accept: {RULE: reason}`"+`. This page is what
`+"`mailbench schema lint --rules --format markdown`"+` prints.

| rule | severity | for |
|---|---|---|
`)
	for _, r := range rules {
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Severity, strings.TrimPrefix(r.about(), ", "))
	}
	for _, r := range rules {
		fmt.Fprintf(b, "\n## %s\n", r.ID)
		for _, part := range []string{
			strings.ToUpper(r.Severity.String()[:1]) + r.Severity.String()[1:] + r.about() + ". " + r.Doc,
			"**Do:** " + r.Do, "**Source:** " + r.Source,
		} {
			title, text, found := strings.Cut(part, "** ")
			if !found {
				title, text = "", part
			} else {
				title += "** "
			}
			fmt.Fprintf(b, "\n%s\n", strings.Join(words.Wrap(title, markdown(text), 0, pageWidth), "\n"))
		}
	}
	return b.Flush()
}

// markdown keeps what a text has from meaning something in Markdown.
func markdown(text string) string {
	return strings.NewReplacer("*", "\\*", "<", "\\<", "[", "\\[").Replace(text)
}
