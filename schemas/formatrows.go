package schemas

import "gopkg.in/yaml.v3"

// formatRows writes the kinds of row of a table, one a line.
func formatRows(t *Table) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range t.Rows {
		b := newBlock()
		b.Style = yaml.FlowStyle
		b.text("each", r.Each)
		if r.Times != 1 {
			b.count("times", r.Times)
		}
		b.flag("shared", r.Shared)
		b.flag("static", r.Static)
		own := r.Each
		if r.Of != "" {
			own = pieceQuantity
			p := newBlock()
			p.Style = yaml.FlowStyle
			p.text("of", r.Of)
			p.number("bytes", r.Piece, r.PieceBy)
			if r.Outside != nil {
				p.text("outside", r.Outside.Name)
				p.number("above", r.Above, r.AboveBy)
			}
			b.add("pieces", p.node())
		}
		if r.Growth != nil {
			formatGrowth(b, r)
		} else if r.Partition != own {
			b.text("partition", r.Partition)
		}
		b.number("most", r.Most, r.MostBy)
		if len(r.Sizes) > 0 {
			sizes := newBlock()
			sizes.Style = yaml.FlowStyle
			for _, s := range r.Sizes {
				sizes.add(s.Column.Name, formatSize(s))
			}
			b.add("sizes", sizes.node())
		}
		if len(r.Ends) > 0 {
			b.add("ends", textList(r.Ends))
		}
		list.Content = append(list.Content, b.node())
	}
	return list
}

func formatSize(s ColumnSize) *yaml.Node {
	switch {
	case s.None:
		return textNode("none")
	case s.Cells == nil:
		return sumNode(s.Bytes)
	}
	b := newBlock()
	b.Style = yaml.FlowStyle
	b.add("cells", sumNode(s.Cells))
	b.add("bytes", sumNode(s.Bytes))
	return b.node()
}

// sumNode writes a sum without quotes, also where it is a number alone.
func sumNode(s Sum) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s.String()} }
