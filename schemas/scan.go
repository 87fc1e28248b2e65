package schemas

import "slices"

// ScanOf returns a pattern that reads all rows of a table that is no header
// (key, static and plain columns), for tools that read everything: golden
// dumps and audits. Its name cannot be that of a declared pattern.
func ScanOf(t *Table) *Pattern {
	return &Pattern{Name: "scan:" + t.Name, Doc: "every row", Kind: Scan, Table: t, Columns: allColumns(t, false)}
}

// StaticScanOf returns a pattern that reads the static columns of every
// partition of a table that has some (partition key and static columns, one
// row a partition): a partition may hold static values and no row.
func StaticScanOf(t *Table) *Pattern {
	return &Pattern{
		Name: "static-scan:" + t.Name, Doc: "the static columns of every partition",
		Kind: Scan, Table: t, Static: true, Columns: allColumns(t, true),
	}
}

// allColumns returns the columns that "*" names.
func allColumns(t *Table, static bool) []*Column {
	if static {
		return slices.Concat(t.Partition, t.Static)
	}
	return slices.Concat(t.Partition, t.Clustering, t.Static, t.Columns)
}
