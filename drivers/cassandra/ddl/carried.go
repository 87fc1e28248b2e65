package ddl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// carriedOption is an option of a CQL table that is no hint. A schema says it under "other".
type carriedOption struct {
	name  string
	usual string // what Cassandra 4.0 to 5.0 gives a table that does not set it (TableParams)
	text  bool   // CQL writes it in quotes
	valid *regexp.Regexp
}

var carriedOptions = []carriedOption{
	{"additional_write_policy", "99p", true, regexp.MustCompile(`.`)},
	{"cdc", "false", false, regexp.MustCompile(`^(true|false)$`)},
	{"memtable_flush_period_in_ms", "0", false, regexp.MustCompile(`^[0-9]{1,9}$`)},
	{"read_repair", "BLOCKING", true, regexp.MustCompile(`^(BLOCKING|NONE)$`)},
	{"speculative_retry", "99p", true, regexp.MustCompile(`.`)},
}

// CarriedOptions are the options that Compare knows and that are no hints.
func CarriedOptions() (names []string) {
	for _, o := range carriedOptions {
		names = append(names, o.name)
	}
	return names
}

func carriedOf(name string) *carriedOption {
	at := slices.IndexFunc(carriedOptions, func(o carriedOption) bool { return o.name == name })
	if at < 0 {
		return nil
	}
	return &carriedOptions[at]
}

// cql returns a value as CQL writes it.
func (o *carriedOption) cql(value string) string {
	if o.text {
		return Literal(value)
	}
	return value
}

var trailingZeros = regexp.MustCompile(`([0-9])\.0+([^0-9]|$)`)

// plain returns a value in one form: Cassandra takes '99PERCENTILE', '99.0p' and '99p' for the same.
func (o *carriedOption) plain(value string) string {
	switch value = unquote(value); o.name {
	case "read_repair":
		return strings.ToUpper(value)
	case "speculative_retry", "additional_write_policy":
		value = strings.ReplaceAll(strings.ToLower(value), " ", "")
		value = strings.ReplaceAll(value, "percentile", "p")
		return trailingZeros.ReplaceAllString(value, "$1$2")
	}
	return strings.ToLower(value)
}

// unquote returns the text of a CQL literal.
func unquote(text string) string {
	if text = strings.TrimSpace(text); len(text) > 1 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	return text
}

// carried returns the options that a table says under "other" and that Cassandra is compared with.
func carried(t *schemas.Table) (all []option, err error) {
	for _, s := range t.Other {
		o := carriedOf(s.Name)
		if o == nil {
			continue
		}
		value := o.plain(s.Text)
		if !o.valid.MatchString(value) {
			return nil, fmt.Errorf("table %s: %s under other is %s, which Cassandra does not know; its default is %s",
				t.Name, s.Name, s.Text, o.usual)
		}
		all = append(all, option{name: s.Name, number: value})
	}
	return all, nil
}

// replicationOf returns the class and the replicas that a schema says under "other", or nil.
func replicationOf(other []schemas.Setting) (map[string]string, error) {
	for _, s := range other {
		if s.Name != "replication" {
			continue
		}
		fields := make(map[string]string)
		for _, m := range mapEntry.FindAllStringSubmatch(s.Text, -1) {
			fields[m[1]] = m[2]
		}
		class := fields["class"]
		if class == "" {
			return nil, fmt.Errorf("replication under other is %s; expected the map of CREATE KEYSPACE, such as "+
				"{'class': 'NetworkTopologyStrategy', 'dc1': 3}", s.Text)
		}
		fields["class"] = class[strings.LastIndexByte(class, '.')+1:]
		return fields, nil
	}
	return nil, nil
}

var mapEntry = regexp.MustCompile(`'([^']+)'\s*:\s*'?([^',}\s]+)'?`)

// durable says whether a schema wants a commit log, which is so unless "other" says not.
func durable(other []schemas.Setting) bool {
	return !slices.ContainsFunc(other, func(s schemas.Setting) bool {
		on, err := strconv.ParseBool(s.Text)
		return s.Name == "durable_writes" && err == nil && !on
	})
}
