package compare

// Line is a figure as the tables show it.
type Line struct {
	*Figure
	Cell, Name  string // MODEL/ENGINE/PHASE, and the operation with its figure
	Base, New   string
	Ratio       string // new/base, with its interval if it has one
	Limit, Said string
}

// Lines are the figures of all cells that could be compared.
func (c *Comparison) Lines() (lines []Line) {
	for i := range c.Cells {
		cell := &c.Cells[i]
		for j := range cell.Figures {
			if f := &cell.Figures[j]; cell.Why == "" {
				lines = append(lines, Line{
					f, cell.name(), f.operation().String() + " " + f.Name,
					f.value(f.Base), f.value(f.New), f.interval(), f.limit(), f.said(),
				})
			}
		}
	}
	return lines
}

// Changed reports whether the figure is worse or better.
func (l *Line) Changed() bool { return l.Verdict == Worse || l.Verdict == Better }

// Remarks are the notes of the comparison and of its cells, and why cells cannot be compared.
func (c *Comparison) Remarks() []string {
	remarks := append([]string(nil), c.Notes...)
	for i := range c.Cells {
		cell := &c.Cells[i]
		for _, why := range append([]string{cell.Why}, cell.Notes...) {
			if why != "" {
				remarks = append(remarks, cell.name()+": "+why)
			}
		}
	}
	return remarks
}

func (c *Cell) name() string { return c.Model + "/" + c.Engine + "/" + c.Phase }
