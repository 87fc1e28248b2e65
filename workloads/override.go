package workloads

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// override replaces values of the file before it is decoded, so that both are checked
// alike. The origin of a node of an override is its --set.
func (d *decoder) override(root *yaml.Node, overrides []string) {
	faults := len(d.Errs)
	for _, o := range overrides {
		at := &yaml.Node{Line: 1, Column: 1}
		d.Origins[at] = "--set " + strconv.Quote(o)
		path, value, ok := strings.Cut(o, "=")
		if !ok || path == "" {
			d.Fail(at, "expected KEY=VALUE, such as population.users=10")
			continue
		}
		var doc yaml.Node
		if strings.ContainsAny(value[:min(1, len(value))], "><%@`") {
			value = strconv.Quote(value) // for a file, YAML wants quotes around such a text
		}
		if err := yaml.Unmarshal([]byte(value), &doc); err != nil || len(doc.Content) == 0 {
			d.Fail(d.place(yaml.Node{}, at, len(path)+1), "%q is not a value; expected a number, text or YAML such as "+
				"{constant: 8KB}", value)
			continue
		}
		d.set(root, strings.Split(path, "."), d.behind(doc.Content[0], at, len(path)), at)
	}
	if len(d.Errs) > faults {
		return
	}
	src, err := yaml.Marshal(root)
	if err != nil {
		d.Fail(root, "the overridden workload cannot be written: %s", err)
	}
	d.w.Source = src
}

// place returns the node at the place of another one, so many columns further.
func (d *decoder) place(n yaml.Node, at *yaml.Node, columns int) *yaml.Node {
	n.Line, n.Column = at.Line, at.Column+columns
	if origin, ok := d.Origins[at]; ok {
		d.Origins[&n] = origin
	}
	return &n
}

// behind moves a value, and all below it, after the key of its override.
func (d *decoder) behind(n, at *yaml.Node, columns int) *yaml.Node {
	moved := d.place(*n, at, columns+n.Column)
	for i, c := range n.Content {
		moved.Content[i] = d.behind(c, at, columns)
	}
	return moved
}

// set puts v at the path below n. It makes the mappings that are missing on the way.
func (d *decoder) set(n *yaml.Node, path []string, v *yaml.Node, at *yaml.Node) {
	word, rest := path[0], path[1:]
	switch n.Kind {
	case yaml.SequenceNode:
		d.setPhase(n, word, rest, v, at)
	case yaml.MappingNode:
		i := 0
		for i < len(n.Content) && n.Content[i].Value != word {
			i += 2
		}
		empty := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if i >= len(n.Content) {
			key := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: word}
			n.Content = append(n.Content, d.place(key, at, 0), d.place(empty, at, 0))
		}
		if len(rest) == 0 {
			n.Content[i+1] = v
			return
		}
		if child := n.Content[i+1]; child.Kind == yaml.ScalarNode { // the path goes on below a plain value
			n.Content[i+1] = d.place(empty, at, 0)
		}
		d.set(n.Content[i+1], rest, v, d.place(yaml.Node{}, at, len(word)+1))
	default:
		d.Fail(at, "%s cannot be set below %s", word, strict.Found(n))
	}
}

// instead has the keys of a phase that another key replaces: no phase has both.
var instead = map[string][]string{
	"clients": {"rate", "arrivals"}, "rate": {"clients", "think"},
	"operations": {"duration"}, "duration": {"operations"},
}

// exclude removes keys of the file from a phase. Keys of other overrides stay, and are an error.
func (d *decoder) exclude(phase *yaml.Node, keys []string) {
	for i := 0; phase.Kind == yaml.MappingNode && i < len(phase.Content); {
		if k := phase.Content[i]; slices.Contains(keys, k.Value) && d.Origins[k] == "" {
			phase.Content = slices.Delete(phase.Content, i, i+2)
		} else {
			i += 2
		}
	}
}

// setPhase sets v below every phase of that name or, if none has it, of that kind. The name of a phase
// without one is its kind.
func (d *decoder) setPhase(list *yaml.Node, word string, rest []string, v, at *yaml.Node) {
	if len(rest) == 0 {
		d.Fail(at, "expected phases.PHASE.KEY=VALUE, such as phases.measure.rate=100/s")
		return
	}
	var known []string
	var named, kinds []*yaml.Node
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode || len(item.Content) != 2 {
			continue
		}
		kind, body := item.Content[0].Value, item.Content[1]
		name := kind
		if body.Kind == yaml.MappingNode {
			for i := 0; i < len(body.Content); i += 2 {
				if body.Content[i].Value == "name" {
					name = body.Content[i+1].Value
				}
			}
		}
		if known = append(known, kind); name != kind {
			known = append(known, name)
		}
		switch word {
		case name:
			named = append(named, body)
		case kind:
			kinds = append(kinds, body)
		}
	}
	if len(named) == 0 {
		named = kinds
	}
	if len(named) == 0 {
		d.Unknown(at, "phase", word, "in phases", known)
	}
	for _, body := range named {
		if len(rest) == 1 {
			d.exclude(body, instead[rest[0]])
		}
		d.set(body, rest, v, d.place(yaml.Node{}, at, len(word)+1))
	}
}
