package forecast

import "slices"

// Outside is what is in a store of blobs beside the engine, in one copy.
type Outside struct{ Files, Bytes float64 }

// stores returns the names of the stores of blobs that the schema's rows name.
func (f *Forecast) stores() (names []string) {
	for _, t := range f.Tables {
		for _, r := range t.Rows {
			if name := r.Store(); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// OutsideAt returns what a store of blobs has after some years. A blob is counted at its length, without
// what a file system takes for a file.
func (f *Forecast) OutsideAt(store string, years float64) (sum Outside) {
	for _, t := range f.Tables {
		for _, g := range t.Groups {
			for _, k := range g.kinds {
				if k.Store() == store {
					n := t.population.totals().messages * k.grown(t.population, years)
					sum.Files += n * k.outside.Files
					sum.Bytes += n * k.outside.Bytes
				}
			}
		}
	}
	return sum
}
