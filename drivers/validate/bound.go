package validate

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// unseen returns the largest share of broken things that leaves a sample of n without one in at least
// 1 of 20 cases: 1 - 0.05^(1/n), which is near 3/n (the rule of three: Hanley and Lippman-Hand, "If Nothing
// Goes Wrong, Is Everything All Right?", JAMA 249, 1983).
func unseen(n int64) float64 {
	if n == 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// writeUnseen says, for tables of which a sample was read and nothing found, what that cannot exclude.
func (r *Report) writeUnseen(w io.Writer) {
	broken := make(map[string]bool)
	for _, f := range r.Findings {
		broken[f.Table] = broken[f.Table] || !f.Leftover
	}
	said := false
	for _, t := range r.Tables {
		if t.Read >= t.Parts || broken[t.Name] {
			continue
		}
		if !said {
			fmt.Fprint(w, "\nWhat the sample cannot exclude, with 95% confidence (rule of three):\n")
			said = true
		}
		fmt.Fprintf(w, "  %s: %s of its rows are broken, if they are spread evenly;\n"+
			"      %s of its parts have broken rows, if they are together\n", t.Name, upTo(unseen(t.Rows)), upTo(unseen(int64(t.Read))))
	}
}

// upTo writes the most that a share can be, with two digits.
func upTo(share float64) string {
	if share > 0.99 {
		return "up to 100%" // two digits would be 1e+02
	}
	return "up to " + strconv.FormatFloat(100*share, 'g', 2, 64) + "%"
}
