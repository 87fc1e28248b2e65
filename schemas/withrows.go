package schemas

import (
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

// WithRows returns a copy of a schema in which a table has one more kind of row. text is an element of
// the list rows: {each: message, …}.
func (s *Schema) WithRows(table, text string) (*Schema, error) {
	var row, file yaml.Node
	if err := yaml.Unmarshal([]byte(text), &row); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := yaml.Unmarshal(Format(s), &file); err != nil {
		return nil, err
	}
	t := valueOf(valueOf(file.Content[0], "tables"), table)
	if t == nil || len(row.Content) != 1 {
		return nil, fmt.Errorf("expected rows of table %s, such as {each: message}", table)
	}
	rows := valueOf(t, "rows")
	if rows == nil {
		rows = &yaml.Node{Kind: yaml.SequenceNode}
		t.Content = append(t.Content, textNode("rows"), rows)
	}
	rows.Content = append(rows.Content, row.Content[0])
	src, err := yaml.Marshal(&file)
	if err != nil {
		return nil, err
	}
	with, err := Parse(s.File, src)
	var faults Errors
	if errors.As(err, &faults) {
		return nil, errors.New(faults[0].Text())
	}
	return with, err
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
