package compare

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Gate says which difference of some figures fails a comparison.
type Gate struct {
	text    string
	pattern string  // of path.Match: MODEL/ENGINE/OP/FIGURE
	limit   float64 // negative: the figure's own limit
}

// DefaultGates fail a comparison if any figure is worse by its own limit.
const DefaultGates = "*"

// ParseGates reads gates such as "list.p99:10%,*.p50:5%,requests". Each is
// [MODEL/[ENGINE/]][OP.]FIGURE[:LIMIT].
func ParseGates(text string) (gates []Gate, err error) {
	isMetric := func(pattern string) bool {
		return slices.ContainsFunc(Names, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	for one := range strings.SplitSeq(text, ",") {
		wrong := func(format string, args ...any) ([]Gate, error) {
			return nil, fmt.Errorf("%q: %w", one, fmt.Errorf(format, args...))
		}
		g := Gate{text: strings.TrimSpace(one), limit: -1}
		name, limit, has := strings.Cut(g.text, ":")
		if has {
			percent, err := strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
			if err != nil || !strings.HasSuffix(limit, "%") || !(percent >= 0 && percent <= 1000) {
				return wrong("expected a limit such as 10%% after the colon, from 0%% to 1000%% (streams have no gates of their own)")
			}
			g.limit = percent / 100
		}
		parts := strings.Split(name, "/")
		if len(parts) > 3 {
			return wrong("expected [MODEL/[ENGINE/]][OP.]METRIC[:LIMIT]")
		}
		figure, op := parts[len(parts)-1], "*"
		if before, after, has := strings.Cut(figure, "."); has && (isMetric(after) || !isMetric(figure)) { // p99.9 is one
			op, figure = before, after
		}
		if !isMetric(figure) {
			return wrong("unknown metric %q; expected one of %s, or OP.METRIC such as list.p99%s", figure,
				strings.Join(Names, ", "), strict.Suggest(figure, Names))
		}
		of := append(parts[:len(parts)-1], "*", "*")[:2] // model and engine
		g.pattern = strings.Join(append(of, op, figure), "/")
		if _, err := path.Match(g.pattern, ""); err != nil {
			return wrong("%q is no pattern", g.text)
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// String is the gate as it was written.
func (g Gate) String() string { return g.text }

// Holds reports whether the gate matches the metric of that name: see NameOf.
func (g Gate) Holds(name string) bool {
	ok, err := path.Match(g.pattern, name)
	return ok && err == nil
}

// NameOf names a metric as the patterns of gates do.
func NameOf(s Subject, op, figure string) string {
	return strings.Join([]string{s.Model, s.Engine, op, figure}, "/")
}

// Unknown says which part of the gate is unknown to those metrics that match the parts before it. It is nil if one of
// the metrics matches them all.
func (g Gate) Unknown(metrics []string) error {
	pattern := strings.Split(g.pattern, "/")
	for i, part := range []string{"model", "engine", "operation", "metric"} {
		var known, match []string
		for _, m := range metrics {
			word := strings.Split(m, "/")[i]
			if ok, _ := path.Match(pattern[i], word); ok {
				match = append(match, m)
			}
			if !slices.Contains(known, word) {
				known = append(known, word)
			}
		}
		if metrics = match; len(match) == 0 {
			return strict.Unknown(part, pattern[i], known...)
		}
	}
	return nil
}
