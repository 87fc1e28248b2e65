package compare

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Gate says which difference of some figures fails a comparison.
type Gate struct {
	text    string
	pattern string  // of path.Match: MODEL/ENGINE/STREAM/OP/FIGURE; * matches the whole phase as a stream, too
	limit   float64 // negative: the figure's own limit
}

// DefaultGates fail a comparison if any figure is worse by its own limit.
const DefaultGates = "*"

// ParseGates reads gates such as "list.p99:10%,*.p50:5%,requests". Each is
// [MODEL/[ENGINE/]][STREAM:][OP.]FIGURE[:LIMIT].
func ParseGates(text string) ([]Gate, error) {
	var gates []Gate
	for one := range strings.SplitSeq(text, ",") {
		g, err := parseGate(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", one, err)
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// limitAt finds the limit, which is after the last colon. A figure of a stream has letters there.
var limitAt = regexp.MustCompile(`:([^:]*%|[^:a-zA-Z]*)$`)

func parseGate(text string) (Gate, error) {
	g := Gate{text: text, limit: -1}
	name := text
	if at := limitAt.FindStringIndex(text); at != nil {
		limit := text[at[0]+1:]
		percent, err := strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
		if err != nil || !strings.HasSuffix(limit, "%") || !(percent >= 0 && percent <= 1000) {
			return g, fmt.Errorf("expected a limit such as 10%%, from 0%% to 1000%%")
		}
		name, g.limit = text[:at[0]], percent/100
	}
	parts := strings.Split(name, "/")
	if len(parts) > 3 {
		return g, fmt.Errorf("expected [MODEL/[ENGINE/]][STREAM:][OP.]METRIC[:LIMIT]")
	}
	figure, stream, op := parts[len(parts)-1], "*", "*"
	if before, after, has := strings.Cut(figure, ":"); has {
		stream, figure = before, after
	}
	if before, after, has := strings.Cut(figure, "."); has && !isMetric(figure) { // p99.9 is one
		op, figure = before, after
	}
	if !isMetric(figure) {
		err := fmt.Errorf("unknown metric %q; expected one of %s, or OP.METRIC such as list.p99", figure, strings.Join(Names(), ", "))
		if near := strict.Nearest(figure, Names()); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		return g, err
	}
	of := append(parts[:len(parts)-1], "*", "*")[:2] // model and engine
	g.pattern = strings.Join(append(of, stream, op, figure), "/")
	if _, err := path.Match(g.pattern, ""); err != nil {
		return g, fmt.Errorf("%q is no pattern", text)
	}
	return g, nil
}

// isMetric reports whether a pattern matches the name of a metric.
func isMetric(pattern string) bool {
	return slices.ContainsFunc(Names(), func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// Holds reports whether the gate matches that metric.
func (g *Gate) Holds(s Subject, o Operation, figure string) bool {
	ok, err := path.Match(g.pattern, strings.Join([]string{s.Model, s.Engine, o.Stream, o.Op, figure}, "/"))
	return ok && err == nil
}

// gateOf is the last of the gates that holds for a figure.
func gateOf(gates []Gate, f *Figure) *Gate {
	for i := len(gates) - 1; i >= 0; i-- {
		if gates[i].Holds(f.cell.Subject, f.Operation, f.Name) {
			return &gates[i]
		}
	}
	return nil
}

// Confirm keeps the regressions that the first round, of other trials, found too. It notes
// the regressions that only one of the rounds found. The metrics stay those of c: the second
// round was made because of what the first one found, so only its own metrics are unbiased.
func (c *Comparison) Confirm(first *Comparison) {
	found := func(by []string, regression string) bool {
		subject := func(r string) string { // the reason may have other values in another round
			of, _, _ := strings.Cut(r, ": ")
			return of
		}
		return slices.ContainsFunc(by, func(r string) bool { return subject(r) == subject(regression) })
	}
	confirmed, once := []string{}, []string(nil)
	for _, r := range c.Regressions {
		if found(first.Regressions, r) {
			confirmed = append(confirmed, r)
		} else {
			once = append(once, fmt.Sprintf("only this second round found %s: that is not confirmed", r))
		}
	}
	for _, r := range first.Regressions {
		if !found(confirmed, r) {
			once = append(once, fmt.Sprintf("the first round found %s, this second one does not confirm it", r))
		}
	}
	if len(confirmed) > 0 {
		c.Notes = append(c.Notes,
			fmt.Sprintf("this is the second round of trials; it confirms %d of %d regressions of the first",
				len(confirmed), len(first.Regressions)))
	}
	c.Notes, c.Regressions = append(c.Notes, once...), confirmed
}
