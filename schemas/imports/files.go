package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// WriteUnread names the statements that could not be read.
func (r *Result) WriteUnread(w io.Writer) {
	for _, u := range r.Unread {
		fmt.Fprintf(w, "%s:%d: not read: %s\n", u.Pos.Filename, u.Pos.Line, u.Reason)
	}
}

// WritePassed names what defines no table of the keyspace and is no access to one, for each reason once a file.
func (r *Result) WritePassed(w io.Writer) {
	type reason struct{ file, text string }
	left := make(map[reason]int)
	for _, u := range r.Passed {
		left[reason{u.Pos.Filename, u.Reason}]++
	}
	for _, u := range r.Passed {
		why, more := reason{u.Pos.Filename, u.Reason}, ""
		if left[why] > 1 {
			more = fmt.Sprintf(" (and %d more)", left[why]-1)
		}
		if left[why] > 0 {
			fmt.Fprintf(w, "%s:%d: not checked: %s%s\n", u.Pos.Filename, u.Pos.Line, u.Reason, more)
		}
		left[why] = 0
	}
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

// Logs of Cassandra that have statements among other lines. fromLog leaves each statement on its lines
// and makes all other lines empty, so that findings point at the log.
//
// A full query log as "fqltool dump" prints it:
//
//	Type: single-query
//	Query start time: 1700000000000
//	…
//	Query: SELECT id FROM messages WHERE box = ?
//	Values:
//	00000000 62 6f 78 …
//
// An audit log, also as log4j and "auditlogviewer" write it:
//
//	user:a|host:…|timestamp:1700000000000|type:SELECT|category:QUERY|ks:shop|scope:messages|operation:SELECT …
var (
	dumped  = regexp.MustCompile(`(?m)^Type: (single-query|batch)\r?\nQuery start time: `)
	audited = regexp.MustCompile(`(?m)user:.*\|timestamp:\d+\|type:\w+\|category:(\w+)` +
		`(?:\|batch:([^|]*))?(?:\|ks:([^|]*))?(?:\|scope:[^|]*)?\|operation:(.*)$`)
	others = regexp.MustCompile(`(?i)^\s*(create|alter|drop|truncate|grant|revoke|list|use|describe)\s`) // none of an application's
	// another begins what is no line of the statement above it: an entry, a line of auditlogviewer, or another
	// line of Cassandra's own log.
	another = regexp.MustCompile(`user:.*\|timestamp:\d+\|type:\w+\|category:\w+|^(Type|LogMessage): |` +
		`^(TRACE|DEBUG|INFO|WARN|ERROR) +(\[|\d{4}-)`)
)

// logged is a statement in a log: text, and the lines after line at up to line end.
type logged struct {
	at, end int
	text    string
	before  string // what begins it, or its batch: USE, BEGIN BATCH
	from    int    // the line of that
	batch   string // of which batch it is a part, or ""
}

// fromLog returns the statements of a log as CQL, equal ones once; ok is false if the text is none.
func fromLog(text string) (cql string, ok bool) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var all []logged
	switch {
	case dumped.MatchString(text):
		all = fromDump(lines)
	case audited.MatchString(text):
		all = fromAudit(lines)
	default:
		return text, false
	}
	out, seen := make([]string, len(lines)), make(map[string]bool)
	for n := 0; len(all) > 0; all = all[n:] {
		first := all[0]
		for n = 1; n < len(all) && first.batch != "" && all[n].batch == first.batch; n++ {
		}
		whole := first.before
		for i, st := range all[:n] {
			text := strings.Join(append([]string{st.text}, lines[st.at+1:st.end]...), "\n")
			all[i].text = strings.TrimRight(text, "; \r\n") + ";"
			whole += all[i].text
		}
		if seen[whole] {
			continue
		}
		seen[whole] = true
		end := 0
		for _, st := range all[:n] {
			end = st.at + copy(out[st.at:], strings.Split(st.text, "\n")) - 1
		}
		if out[first.from] = first.before + out[first.from]; first.batch != "" {
			out[end] += " APPLY BATCH;"
		}
	}
	return strings.Join(out, "\n"), true
}

// fromDump reads what "fqltool dump" prints.
func fromDump(lines []string) (all []logged) {
	var batch logged
	for i := 0; i < len(lines); i++ {
		kind, isBatch := strings.CutPrefix(lines[i], "Batch type: ")
		text, isQuery := strings.CutPrefix(lines[i], "Query: ")
		switch {
		case strings.HasPrefix(lines[i], "Type: "):
			batch = logged{}
		case isBatch:
			batch = logged{before: "BEGIN " + strings.TrimSpace(kind) + " BATCH", from: i, batch: strconv.Itoa(i)}
		case isQuery:
			st := logged{at: i, end: i + 1, text: text, from: i}
			for st.end < len(lines) && strings.TrimSpace(lines[st.end]) != "Values:" {
				st.end++
			}
			if i = st.end - 1; batch.batch != "" {
				st.before, st.from, st.batch = batch.before, batch.from, batch.batch
			}
			if batch.batch != "" || !others.MatchString(text) {
				all = append(all, st)
			}
		}
	}
	return all
}

// fromAudit reads an audit log: what reads, writes or is prepared. A batch that a driver sent is an entry
// that says so, and one for each part.
func fromAudit(lines []string) (all []logged) {
	for i := 0; i < len(lines); i++ {
		m := audited.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		st := logged{at: i, end: i + 1, text: m[4], from: i, batch: m[2]}
		for st.end < len(lines) && !another.MatchString(lines[st.end]) {
			st.end++
		}
		i = st.end - 1
		if m[3] != "" {
			st.before = `USE "` + strings.ReplaceAll(m[3], `"`, `""`) + `"; `
		}
		if m[2] != "" {
			st.before += "BEGIN BATCH "
		}
		if slices.Contains([]string{"QUERY", "DML", "PREPARE"}, m[1]) && !strings.HasPrefix(m[4], "BatchId:[") {
			all = append(all, st)
		}
	}
	return all
}
