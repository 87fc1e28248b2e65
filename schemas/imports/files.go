package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
)

// digits are the numbers in names of migrations: V10 comes after V9.
var digits = regexp.MustCompile(`[0-9]+`)

// migrations returns the files that a name means, in the order in which they are applied: those of a
// folder or pattern by their numbers, without what would take them back (NAME.down.cql).
func migrations(name string) (files []string, err error) {
	pattern := name
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		pattern = filepath.Join(name, "*.cql")
	} else if err == nil || !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil
	}
	if files, err = filepath.Glob(pattern); err != nil {
		return nil, fmt.Errorf("read CQL: %s: %w", name, err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".down.cql") })
	if len(files) == 0 {
		return nil, fmt.Errorf("read CQL: no file %s", pattern)
	}
	padded := func(s string) string {
		return digits.ReplaceAllStringFunc(s, func(n string) string { return fmt.Sprintf("%020s", n) })
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(padded(a), padded(b)) })
	return files, nil
}

// Read reads files of CQL of up to so many bytes: files, or folders and patterns of migrations.
func Read(most int64, names ...string) (all []Source, err error) {
	var files []string
	for _, name := range names {
		more, err := migrations(name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".cq4") {
			return nil, fmt.Errorf("read CQL: %s is a binary full query log; \"fqltool dump %s\" prints the text that is read", file,
				filepath.Dir(file))
		}
		text, err := plainfile.Read(file, most)
		if err != nil {
			return nil, fmt.Errorf("read CQL: %w", err)
		}
		if at := bytes.IndexByte(text, 0); at >= 0 {
			return nil, fmt.Errorf("read CQL: %s is no text: it has a zero at byte %d; expected CQL, or a log as text", file, at)
		}
		all = append(all, Source{File: file, Text: string(text)})
	}
	return all, nil
}

// Summary says what was imported.
func (r *Result) Summary() string {
	carried := len(r.Schema.Other) - len(r.Unread)
	for _, t := range r.Schema.Tables {
		carried += len(t.Other)
	}
	for _, p := range r.Schema.Patterns {
		for _, clause := range p.Other {
			if !clause.Aside() { // which rules read
				carried++
			}
		}
	}
	return fmt.Sprintf("%s: %s, %s from %s; %s kept as text, not checked (other)", r.Schema.Name,
		words.Plural(len(r.Schema.Tables), "table"), words.Plural(len(r.Schema.Patterns), "pattern"),
		words.Plural(r.Statements, "statement"), words.Plural(carried, "setting"))
}
