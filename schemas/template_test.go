package schemas

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplateMatch(t *testing.T) {
	for _, c := range []struct{ template, text, want string }{
		{"{k}", "", "k="},
		{"{k}", "a:b", "k=a:b"},
		{"", "", ""},
		{"", "a", "no"},
		{"l:1", "l:1", ""},
		{"l:1", "l:11", "no"},
		{"l:{n}", "l:1", "n=1"},
		{"l:{n}", "m:1", "no"},
		{"{account}:{label int}", "ann@x:1", "account=ann@x label=1"},
		{"{account}:{label int}", "[ipv6:1::2]:21", "account=[ipv6:1::2] label=21"},
		{"{account}:{label int}", "ann@x:purge", "no"},
		{"{account}:{label int}", "ann@x:", "no"},
		{"{account}:purge", "ann@x:purge", "account=ann@x"},
		{"blob://db/{m uuid}?{}", "blob://db/00000000-0000-1000-8000-00000000000f?b=1&s=2", "m=00000000-0000-1000-8000-00000000000f"},
		{"blob://db/{m uuid}?{}", "blob://db/0000000-00000-1000-8000-00000000000f?b=1", "no"},
		{"{a}/{b}/{c}", "1/2/3/4", "a=1/2 b=3 c=4"},
		{"x{a}x", "x", "no"},
		{"x{a}x", "xx", "a="},
	} {
		tm, err := parseTemplate(c.template)
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		if got := matched(&tm, c.text); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.template, c.text, got, c.want)
		}
	}
}

func matched(t *Template, text string) string {
	found, ok := t.Match([]byte(text), nil)
	if !ok {
		return "no"
	}
	words := make([]string, len(found))
	for i, name := range t.Names() {
		words[i] = name + "=" + string(found[i])
	}
	return strings.Join(words, " ")
}

// TestTemplateMatchRandom compares Match with the regular expression of the same
// meaning.
func TestTemplateMatchRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.StringMatching(`[a:/]{0,3}`)
		literal := rapid.StringMatching(`[a:/]{1,2}`)
		text, expr := short.Draw(t, "head"), ""
		expr = regexp.QuoteMeta(text)
		for i := range rapid.IntRange(0, 3).Draw(t, "variables") {
			if i > 0 {
				l := literal.Draw(t, "between")
				text, expr = text+l, expr+regexp.QuoteMeta(l)
			}
			name := string(rune('p' + i))
			text, expr = text+"{"+name+"}", expr+"(?P<"+name+">.*)"
		}
		tail := short.Draw(t, "tail")
		tm, err := parseTemplate(text + tail)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(`(?s)\A` + expr + regexp.QuoteMeta(tail) + `\z`)
		in := rapid.StringMatching(`[a:/]{0,12}`).Draw(t, "text")
		want := "no"
		if m := re.FindStringSubmatch(in); m != nil {
			var words []string
			for i, name := range re.SubexpNames()[1:] {
				words = append(words, name+"="+m[i+1])
			}
			want = strings.Join(words, " ")
		}
		if got := matched(&tm, in); got != want {
			t.Fatalf("%q of %q: %q, want %q as %v says", text+tail, in, got, want, re)
		}
	})
}
