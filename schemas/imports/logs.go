package imports

import (
	"regexp"
	"strings"
)

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
	audited = regexp.MustCompile(`user:.*\|timestamp:\d+\|type:(\w+)\|category:(\w+)` +
		`(?:\|batch:([^|]*))?(?:\|ks:([^|]*))?(?:\|scope:[^|]*)?\|operation:(.*)$`)
	others = regexp.MustCompile(`(?i)^\s*(create|alter|drop|truncate|grant|revoke|list|use|describe)\s`) // none of an application's
	entry  = regexp.MustCompile(`user:.*\|timestamp:\d+\|type:\w+\|category:\w+`)
	viewed = regexp.MustCompile(`^(Type|LogMessage): `)                        // auditlogviewer
	logged = regexp.MustCompile(`^(TRACE|DEBUG|INFO|WARN|ERROR) +(\[|\d{4}-)`) // another line of Cassandra's own log
)

// fromLog returns the statements of a log as CQL; ok is false if the text is none.
func fromLog(text string) (cql string, ok bool) {
	l := log{lines: strings.Split(text, "\n"), seen: make(map[string]bool)}
	l.out = make([]string, len(l.lines))
	switch {
	case dumped.MatchString(text):
		l.dump()
	case entry.MatchString(text):
		l.audit()
	default:
		return text, false
	}
	return strings.Join(l.out, "\n"), true
}

type log struct {
	lines, out []string
	seen       map[string]bool // statements that were read before
}

// statement takes the statement that begins at line at with text, and goes on up to line end. Equal ones
// are read once.
func (l *log) statement(at, end int, before, text string) {
	all := append([]string{text}, l.lines[at+1:end]...)
	for i := range all {
		all[i] = strings.TrimRight(all[i], "\r ")
	}
	whole := before + strings.Join(all, "\n")
	if l.seen[whole] {
		return
	}
	l.seen[whole] = true
	l.out[at] = before + all[0]
	copy(l.out[at+1:end], all[1:])
	for end--; end > at && l.out[end] == ""; end-- {
	}
	l.out[end] = strings.TrimRight(l.out[end], "; ") + ";"
}

// dump reads what "fqltool dump" prints.
func (l *log) dump() {
	batch := -1 // the line at which a batch began
	var parts []string
	end := func(at int) {
		if batch >= 0 && len(parts) > 0 && !l.seen[strings.Join(parts, "\n")] {
			l.seen[strings.Join(parts, "\n")] = true
			l.batch(batch, at, l.out[batch])
		} else if batch >= 0 {
			clear(l.out[batch:at])
		}
		batch, parts = -1, nil
	}
	for i := 0; i < len(l.lines); i++ {
		line := strings.TrimRight(l.lines[i], "\r")
		switch {
		case strings.HasPrefix(line, "Type: "):
			end(i)
		case strings.HasPrefix(line, "Batch type: "):
			batch = i
			l.out[i] = beginBatch(strings.TrimPrefix(line, "Batch type: "))
		case strings.HasPrefix(line, "Query: "):
			to := i + 1
			for to < len(l.lines) && strings.TrimRight(l.lines[to], "\r ") != "Values:" {
				to++
			}
			text := strings.TrimPrefix(line, "Query: ")
			switch {
			case batch >= 0:
				parts = append(parts, l.part(i, to, text))
			case !others.MatchString(text):
				l.statement(i, to, "", text)
			}
			i = to - 1
		}
	}
	end(len(l.lines))
}

// part takes a statement of a batch, and returns its text.
func (l *log) part(at, end int, text string) string {
	l.out[at] = text
	for i := at + 1; i < end; i++ {
		l.out[i] = strings.TrimRight(l.lines[i], "\r")
	}
	whole := strings.TrimRight(strings.TrimSpace(strings.Join(l.out[at:end], "\n")), "; ")
	copy(l.out[at:end], strings.Split(whole, "\n"))
	l.out[at+strings.Count(whole, "\n")] += ";"
	return whole
}

// batch begins a batch at a line, and ends it before another.
func (l *log) batch(from, to int, begin string) {
	l.out[from] = begin
	for i := to - 1; i >= from; i-- {
		if l.out[i] != "" {
			l.out[i] += " APPLY BATCH;"
			return
		}
	}
}

func beginBatch(kind string) string {
	switch strings.ToUpper(strings.TrimSpace(kind)) {
	case "UNLOGGED":
		return "BEGIN UNLOGGED BATCH"
	case "COUNTER":
		return "BEGIN COUNTER BATCH"
	}
	return "BEGIN BATCH"
}

// audit reads an audit log: what reads, writes or is prepared. A batch that a driver sent is an entry
// that says so, and one for each part.
func (l *log) audit() {
	for i := 0; i < len(l.lines); i++ {
		m := audited.FindStringSubmatch(strings.TrimRight(l.lines[i], "\r"))
		to := l.entryEnd(i)
		switch {
		case m == nil || m[2] != "QUERY" && m[2] != "DML" && m[2] != "PREPARE" || strings.HasPrefix(m[5], "BatchId:["):
		case m[3] != "":
			i = l.auditedBatch(i, m)
			continue
		default:
			l.statement(i, to, use(m[4]), m[5])
		}
		i = to - 1
	}
}

// entryEnd returns the line after the entry that begins at a line: a statement may have several.
func (l *log) entryEnd(at int) int {
	for at++; at < len(l.lines); at++ {
		if line := l.lines[at]; entry.MatchString(line) || viewed.MatchString(line) || logged.MatchString(line) {
			break
		}
	}
	return at
}

// auditedBatch takes the parts of a batch, of which the first is at line i, and returns its last line.
func (l *log) auditedBatch(i int, m []string) int {
	id, first, end := m[3], i, i
	begin := use(m[4]) + "BEGIN BATCH "
	var parts []string
	for ; i < len(l.lines); i = end {
		next := audited.FindStringSubmatch(strings.TrimRight(l.lines[i], "\r"))
		if next == nil && (viewed.MatchString(l.lines[i]) || logged.MatchString(l.lines[i])) {
			end = i + 1
			continue
		}
		if next == nil || next[3] != id {
			break
		}
		end = l.entryEnd(i)
		parts = append(parts, l.part(i, end, next[5]))
	}
	if key := begin + strings.Join(parts, "\n"); l.seen[key] {
		clear(l.out[first:i])
	} else {
		l.seen[key] = true
		l.batch(first, i, begin+l.out[first])
	}
	return i - 1
}

// use says of which keyspace the names of a statement are.
func use(keyspace string) string {
	if keyspace == "" {
		return ""
	}
	return `USE "` + strings.ReplaceAll(keyspace, `"`, `""`) + `"; `
}
