package schemas

import "gopkg.in/yaml.v3"

// relations adds a table's references and counts, unless there are none.
func (b *block) relations(t *Table) {
	if len(t.Refers) > 0 {
		all := newBlock()
		for _, r := range t.Refers {
			one := newBlock()
			one.text("doc", r.Doc)
			one.join("to", &r.Join)
			one.flag("leftover", r.Leftover)
			all.add(r.Name, one.node())
		}
		b.add("refers", all.node())
	}
	if len(t.Counts) > 0 {
		all := newBlock()
		for _, c := range t.Counts {
			one := newBlock()
			one.text("doc", c.Doc)
			one.text("column", c.Column.Name)
			one.join("of", &c.Join)
			if c.Sum != nil {
				one.text("sum", c.Sum.Name)
			}
			all.add(c.Name, one.node())
		}
		b.add("counts", all.node())
	}
}

func (b *block) join(key string, j *Join) {
	b.text(key, j.To.Name)
	if len(j.By) > 0 {
		b.add("by", textList(j.By))
		return
	}
	b.add("from", matchList(j.From))
	b.add("at", matchList(j.At))
}

func matchList(ms []Match) *yaml.Node {
	b := newBlock()
	b.Style = yaml.FlowStyle
	for i := range ms {
		b.add(ms[i].Column.Name, textNode(ms[i].Template.Text))
	}
	return b.node()
}
