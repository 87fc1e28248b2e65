package hbase

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestRender parses the commands that are rendered. They create the tables that Apply
// creates on a live HBase.
func TestRender(t *testing.T) {
	st := openLive(t, newNamespace(), map[string]string{"pre_split": "3"})
	s := parse(t, hintedSchema+"  words: {partition: [w text], clustering: [n int], columns: {a: text}, static: {\"b\": blob}}\n")
	text, err := Engine().Render(s, drivers.Options{Namespace: st.Namespace, Settings: map[string]string{"pre_split": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	rendered := commands(t, text)
	there, err := st.describe(t.Context(), drivers.Prefix+st.Namespace)
	if err != nil || len(there) != len(rendered) {
		t.Fatalf("%d tables are there and %d rendered, %v", len(there), len(rendered), err)
	}
	for _, c := range rendered {
		have := there[c.table.Name]
		only(have.Attributes, c.table.Attributes) // HBase adds attributes of its own
		for family, settings := range have.Families {
			only(settings, c.table.Families[family])
		}
		if d := cmp.Diff(c.table, have); d != "" {
			t.Errorf("table %s (-rendered +there):\n%s", c.table.Name, d)
		}
		if len(c.splits) != 2 { // TestSplits and others hold what Apply splits
			t.Errorf("table %s is split at %q; expected two keys", c.table.Name, c.splits)
		}
	}
}

// TestRenderBundled: the commands of each schema create the descriptors that Apply
// sends.
func TestRenderBundled(t *testing.T) {
	for _, name := range pinned {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Engine().Render(s, drivers.Options{Namespace: "run"})
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLayout(prefixOf("run", name), s)
		if err != nil {
			t.Fatal(err)
		}
		var want []command
		for _, r := range l.roots {
			want = append(want, command{table: (&place{layout: l, namespace: "run"}).descriptor(r)})
		}
		if d := cmp.Diff(want, commands(t, text), cmp.AllowUnexported(command{})); d != "" {
			t.Errorf("schema %s (-Apply +rendered):\n%s", name, d)
		}
	}
}

func only(have, of map[string]string) {
	maps.DeleteFunc(have, func(name, _ string) bool { _, ok := of[name]; return !ok })
}

// command is one create command of the HBase shell.
type command struct {
	table  TableDescription
	splits []string
}

// commands parses create commands as the shell does (hbase-shell, admin.rb).
func commands(t *testing.T, text string) []command {
	t.Helper()
	p := &shell{T: t, rest: text}
	var all []command
	for p.space(); p.rest != ""; p.space() {
		p.take("create")
		all = append(all, p.create())
	}
	return all
}

// create parses the arguments of a create command.
func (p *shell) create() command {
	c := command{table: TableDescription{Name: p.value().(string), Families: make(map[string]familySettings)}}
	for p.next(",") {
		switch h := p.value().(map[string]any); {
		case h["NAME"] != nil:
			family := words(h)
			delete(family, "NAME")
			c.table.Families[h["NAME"].(string)] = family
		case h["METADATA"] != nil:
			c.table.Attributes = words(h["METADATA"].(map[string]any))
		case h["SPLITS"] != nil:
			for _, k := range h["SPLITS"].([]any) {
				key, err := strconv.Unquote(`"` + k.(string) + `"`) // Bytes.toBytesBinary
				if err != nil {
					p.Fatal(err)
				}
				c.splits = append(c.splits, key)
			}
		default:
			p.Fatalf("the shell ignores %v", h)
		}
	}
	return c
}

func words(h map[string]any) map[string]string {
	m := make(map[string]string)
	for k, v := range h {
		m[k] = v.(string)
	}
	return m
}

// shell parses what of Ruby a create command needs: strings in single quotes,
// constants, hashes and arrays.
type shell struct {
	*testing.T
	rest string
}

// space skips blanks, line ends and comments.
func (p *shell) space() {
	p.rest = strings.TrimLeft(p.rest, " \n")
	for strings.HasPrefix(p.rest, "#") {
		_, p.rest, _ = strings.Cut(p.rest, "\n")
		p.rest = strings.TrimLeft(p.rest, " \n")
	}
}

func (p *shell) next(word string) (ok bool) {
	p.space()
	p.rest, ok = strings.CutPrefix(p.rest, word)
	return ok
}

func (p *shell) take(word string) {
	p.Helper()
	if !p.next(word) {
		p.Fatalf("expected %q at %.40q", word, p.rest)
	}
}

func (p *shell) value() any {
	switch {
	case p.next("'"):
		var b strings.Builder
		for !strings.HasPrefix(p.rest, "'") {
			if len(p.rest) > 1 && p.rest[0] == '\\' && strings.ContainsRune(`'\`, rune(p.rest[1])) {
				p.rest = p.rest[1:]
			}
			if p.rest == "" {
				p.Fatal("a text does not end")
			}
			b.WriteByte(p.rest[0])
			p.rest = p.rest[1:]
		}
		p.rest = p.rest[1:]
		return b.String()
	case p.next("{"):
		h := p.pairs()
		p.take("}")
		return h
	case p.next("["):
		var all []any
		for len(all) == 0 || p.next(",") {
			all = append(all, p.value())
		}
		p.take("]")
		return all
	}
	end := strings.IndexFunc(p.rest, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' })
	if end <= 0 {
		p.Fatalf("expected a value at %.40q", p.rest)
	}
	constant := p.rest[:end]
	if known := append(slices.AppendSeq(slices.Collect(maps.Keys(defaults)), maps.Keys(familyDefaults)), "NAME", "METADATA", "METHOD", "SPLITS"); !slices.Contains(known, constant) {
		p.Fatalf("the shell has no constant %s", constant)
	}
	p.rest = p.rest[end:]
	return constant
}

func (p *shell) pairs() map[string]any {
	h := make(map[string]any)
	for len(h) == 0 || p.next(",") {
		key := p.value().(string)
		p.take("=>")
		h[key] = p.value()
	}
	return h
}
