package hbase

import (
	"math"

	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// forecastOf returns the sizes of a schema's rows. A partition takes nothing in addition: a wide row has only one entry
// in the Bloom filter.
func forecastOf(s *schemas.Schema) (*forecast.Engine, error) {
	l, err := newLayout(prefixOf("", s.Name), s)
	if err != nil {
		return nil, err
	}
	return &forecast.Engine{
		Row: l.rowSize,
		Table: func(t *schemas.Table, _ forecast.Size) float64 {
			if len(t.Static) > 0 {
				return 2 * fileBytes
			}
			return fileBytes
		},
		Unit: func(t *schemas.Table) int { return len(l.tables[t].row) }, // an HBase row
		Space: forecast.Space{
			Replicas: 3, Compaction: 0.5, Tombstones: 7,
			Why: "major compactions rewrite stores, one by one; the replicas are those of HDFS",
		},
		Limits: []forecast.Limit{
			{
				Name: "cell over 10 MiB", Of: forecast.CellBytes, Most: 10 << 20, Hard: true,
				Source: "hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize",
			},
			{
				Name: "row over 1 GiB", Of: forecast.PartitionBytes, Most: 1 << 30, Hard: true,
				Source: "hbase.table.max.rowsize: reads of a whole row fail",
			},
			{
				Name: "row over a region of 10 GiB", Of: forecast.PartitionBytes, Most: 10 << 30, Hard: true,
				Source: "hbase.hregion.max.filesize: a region cannot split inside a row",
			},
			{
				Name: "family over a region of 10 GiB", Of: forecast.TableBytes, Most: 10 << 30,
				Source: "hbase.hregion.max.filesize: regions split from there on",
			},
		},
	}, nil
}

const (
	// sequenceBytes is a cell's sequence id as a vlong: 3 bytes up to 65,535 writes of
	// a region, 4 up to 16 million. Families with NEW_VERSION_BEHAVIOR keep it.
	sequenceBytes = 3
	// fileBytes is the size of a file without cells: a trailer of 4 KiB, and about 1,000 bytes of
	// file info and roots of indexes and filters.
	fileBytes = 4096 + 1000
	// headerBytes is the header of a block; its checksums take 4 bytes for 16 KiB.
	headerBytes = 33
	// stampBytes is the length of the stamp before the value of an element and in a
	// collection's own cell.
	stampBytes = 8
)

// cellBytes sizes a cell in a file.
func cellBytes(row float64, family string, qualifier, value float64) float64 {
	return rpc.CellOverhead - 4 + row + float64(len(family)) + qualifier + value + sequenceBytes
}

// rowSize sizes a row as HBase 2 writes it in an HFile of version 3 without data block encoding: each cell repeats row,
// family and qualifier (classes KeyValue, NoOpDataBlockEncoder, HFileBlock).
func (l *layout) rowSize(r *forecast.Row) forecast.Size {
	t := l.tables[r.Table]
	s := forecast.Size{Rows: 1}
	if r.Static {
		row := keyBytes(t.statics.row, r.Key)
		addColumns(&s, row, staticFamily, r.Cells)
		return addBlocks(s)
	}
	row := keyBytes(t.row, r.Key)
	if t.wide {
		v := float64(len(escapeNull))
		if len(r.Cells) > 0 {
			v = valueBytes(r.Cells[0].Bytes)
		}
		s.Cells = 1
		s.Bytes = cellBytes(row, t.family, keyBytes(t.rest, r.Key[len(t.row):]), v)
		return addBlocks(s)
	}
	s.Cells = 1
	s.Bytes = cellBytes(row, t.family, float64(len(markerName)), float64(len(marker)))
	addColumns(&s, row, t.family, r.Cells)
	s = addBlocks(s)
	s.Bytes += bloomBytes
	return s
}

// addColumns adds a cell for each column or element.
func addColumns(s *forecast.Size, row float64, family string, cells []forecast.Cell) {
	for _, c := range cells {
		name := float64(len(c.Column.Name))
		s.Cells += c.Count
		if !c.Column.Type.Collection() {
			s.Bytes += cellBytes(row, family, name, valueBytes(c.Bytes))
			continue
		}
		// A collection has a cell of its own and one for each element. An element's qualifier
		// ends with the byte elements and the element, or in a list with its stamp.
		s.Cells++
		s.Bytes += cellBytes(row, family, name, stampBytes)
		if c.Count == 0 {
			continue
		}
		each := c.Bytes/c.Count + stampBytes
		if c.Column.Type.Kind == schemas.List {
			each = c.Bytes/c.Count + 8
		}
		s.Bytes += c.Count * cellBytes(row, family, name+1, each)
	}
}

// valueBytes sizes a value of n bytes. The driver writes an empty value as escapeEmpty.
func valueBytes(n float64) float64 {
	if n == 0 {
		return float64(len(escapeEmpty))
	}
	return n
}

// keyBytes sizes a row key or a qualifier, given its columns' sizes.
func keyBytes(parts keys.Columns, sizes []float64) (n float64) {
	for i, p := range parts {
		n += sizes[i]
		if !p.Raw && (p.Kind == schemas.Text || p.Kind == schemas.Blob) {
			n += 2 // a terminator
		}
	}
	if len(parts) > 0 && parts[0].Salt > 0 {
		n++
	}
	return n
}

// bloomBytes is what an HBase row takes in the Bloom filter at an error rate of 0.01.
const bloomBytes = 1.2

// addBlocks adds the row's share of its blocks' overhead: header, checksums, and an entry in the
// block index with a key of 60 bytes.
func addBlocks(s forecast.Size) forecast.Size {
	const block = 64 << 10
	key := 60.0
	s.Bytes += s.Bytes / math.Max(block, s.Bytes) * (headerBytes + 12 + key)
	s.Bytes += s.Bytes * 4 / (16 << 10)
	return s
}
