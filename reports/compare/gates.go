package compare

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Gate says which difference of some figures fails a comparison.
type Gate struct {
	text                      string
	model, engine, op, figure string  // patterns of path.Match
	stream                    string  // pattern of path.Match; "*" matches the whole phase, too
	limit                     float64 // negative: the figure's own limit
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

func parseGate(text string) (Gate, error) {
	g := Gate{text: text, model: "*", engine: "*", stream: "*", op: "*", limit: -1}
	name, limit, limited := cutLimit(text)
	if limited {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
		if err != nil || !strings.HasSuffix(limit, "%") || !(percent >= 0 && percent <= 1000) {
			return g, fmt.Errorf("expected a limit such as 10%%, from 0%% to 1000%%")
		}
		g.limit = percent / 100
	}
	parts := strings.Split(name, "/")
	switch len(parts) {
	case 3:
		g.model, g.engine = parts[0], parts[1]
	case 2:
		g.model = parts[0]
	case 1:
	default:
		return g, fmt.Errorf("expected [MODEL/[ENGINE/]][STREAM:][OP.]METRIC[:LIMIT]")
	}
	g.figure = parts[len(parts)-1]
	if stream, figure, has := strings.Cut(g.figure, ":"); has {
		g.stream, g.figure = stream, figure
	}
	if op, figure, has := strings.Cut(g.figure, "."); has && !isMetric(g.figure) {
		g.op, g.figure = op, figure
	}
	if !isMetric(g.figure) {
		err := fmt.Errorf("unknown metric %q; expected one of %s, or OP.METRIC such as list.p99",
			g.figure, strings.Join(Names(), ", "))
		if near := strict.Nearest(g.figure, Names()); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		return g, err
	}
	for _, pattern := range []string{g.model, g.engine, g.stream, g.op} {
		if _, err := path.Match(pattern, ""); err != nil {
			return g, fmt.Errorf("%q is no pattern", pattern)
		}
	}
	return g, nil
}

// cutLimit cuts off the limit. That is the text after the last colon, unless it is a figure of
// a stream.
func cutLimit(text string) (name, limit string, limited bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return text, "", false
	}
	if limit = text[at+1:]; !strings.HasSuffix(limit, "%") && strings.ContainsFunc(limit, unicode.IsLetter) {
		return text, "", false
	}
	return text[:at], limit, true
}

// isMetric reports whether a pattern matches the name of a metric.
func isMetric(pattern string) bool {
	return slices.ContainsFunc(Names(), func(name string) bool { return match(pattern, name) })
}

// Holds reports whether the gate matches that metric.
func (g *Gate) Holds(s Subject, o Operation, figure string) bool {
	return match(g.model, s.Model) && match(g.engine, s.Engine) &&
		match(g.stream, o.Stream) && match(g.op, o.Op) && match(g.figure, figure)
}

func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// gateOf is the last of the gates that holds for a figure.
func gateOf(gates []Gate, s Subject, o Operation, figure string) *Gate {
	for i := len(gates) - 1; i >= 0; i-- {
		if gates[i].Holds(s, o, figure) {
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
