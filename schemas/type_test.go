package schemas

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// TestTypes: how many types each form of type has within it, and which they can be.
func TestTypes(t *testing.T) {
	for text, want := range map[string]string{
		"tuple<int>":                    "tuple<int>",
		"tuple<int, text, a>":           "tuple<int,text,a>",
		"frozen<map<text, list<int>>>":  "frozen<map<text,list<int>>>",
		"vector<float, 3>":              "vector<float,3>",
		"map<text, frozen<list<text>>>": "map<text,frozen<list<text>>>",
		"list<frozen<tuple<int,a>>>":    "list<tuple<int,a>>", // every tuple is frozen
		"a":                             "a",
		"vector<float>":                 "type \"vector<float>\" x: expected vector<TYPE,DIMENSIONS>",
		"frozen<int,int>":               "type \"frozen<int,int>\" x: expected frozen<TYPE>",
		"tuple":                         "type \"tuple\" x: expected tuple<TYPE,TYPE,…>",
		"double<int>":                   "type \"double<int>\" x: expected double alone",
		"list<map<text,int>>":           "type \"list<map<text,int>>\" x: a map cannot be an element of a collection",
		"tuple<int,lst<int>>":           "unknown type \"lst\" x; did you mean \"list\"?",
		"txt":                           "unknown type \"txt\" x; did you mean \"text\"?",
		"set<set<set<set<set<set<set<set<set<set<set<int>>>>>>>>>>>": "the type x has 11 levels of <…>; expected at most 10",
	} {
		p := parser{types: []string{"a"}}
		of, ok := p.typ(&yaml.Node{}, text, "x")
		got := of.String()
		if !ok {
			got = p.Errs[0].Text()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
