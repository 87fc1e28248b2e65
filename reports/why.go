package reports

import "fmt"

// why says in one sentence where the difference of a row comes from.
func why(_ *Run, columns []columnCells, row *OverviewRow) string {
	counted := row.counted()
	if counted == nil {
		return ""
	}
	best, worst := counted.ends()
	if counted.Values[worst].Best || counted.Values[worst].Same {
		return ""
	}
	say := func(i int) string {
		return fmt.Sprintf("%s %s", columns[i][0].Model, counted.Figure.Text(counted.Values[i].Median))
	}
	return fmt.Sprintf("%s: %s, %s", counted.Figure, say(best), say(worst))
}

// counted is the row's line of a counted figure; nil if it has none.
func (row *OverviewRow) counted() *OverviewLine {
	for i := range row.Lines {
		if row.Lines[i].Figure.Counted() {
			return &row.Lines[i]
		}
	}
	return nil
}

// ends are the columns of the least and of the most value.
func (l *OverviewLine) ends() (best, worst int) {
	best, worst = -1, -1
	for i := range l.Values {
		v := &l.Values[i]
		if !v.Known {
			continue
		}
		if best < 0 || v.Median < l.Values[best].Median {
			best = i
		}
		if worst < 0 || v.Median > l.Values[worst].Median {
			worst = i
		}
	}
	return best, worst
}
