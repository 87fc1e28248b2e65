package elasticinbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models/mail"
)

// FuzzAddresses checks that any names and addresses come back, and that what
// is stored is JSON to everybody else.
func FuzzAddresses(f *testing.F) {
	f.Add("EI Test", "test@elasticinbox.com", "Me")
	f.Add("\x00\x1f\"\\\u2028\u202e", `"odd \" one"@x`, "\t")
	f.Fuzz(func(t *testing.T, name, address, other string) {
		name, address, other = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(address, "?"), strings.ToValidUTF8(other,
			"?")
		list := appendAddresses([]byte("kept"), mail.Address{Name: name, Address: address},
			mail.Address{Name: other, Address: "x"})[len("kept"):]
		var pairs [][2]string
		if err := json.Unmarshal(list, &pairs); err != nil || len(pairs) != 2 || pairs[0] != [2]string{name, address} ||
			pairs[1][0] != other {
			t.Errorf("%s reads as %q (%v)", list, pairs, err)
		}
		if got, err := appendFirstAddress([]byte("kept"), list); err != nil || string(got) != "kept"+address {
			t.Errorf("the first address of %s is %q (%v), want %q", list, got, err, address)
		}
	})
}

// FuzzFirstAddress feeds it random text: all that it accepts is JSON, and the address is the first one.
func FuzzFirstAddress(f *testing.F) {
	for _, s := range []string{
		`[]`, `[["a","b"]]`, `[["a","b"],["c","d"]]`, `[["a","b"],]`, `[["a"]]`, `["a","b"]`,
		`[["\u0009","\\"]]`, `[["a","b"]] `, `[["a`, `[["a","\u00`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		got, err := appendFirstAddress(nil, list)
		if err != nil {
			if len(got) > 0 {
				t.Errorf("%q is refused, but for %q", list, got)
			}
			return
		}
		var pairs [][2]string
		if err := json.Unmarshal(list, &pairs); err != nil {
			t.Fatalf("%q is accepted, but is no JSON: %v", list, err)
		}
		if len(pairs) > 0 && string(got) != pairs[0][1] || len(pairs) == 0 && len(got) > 0 {
			t.Errorf("the first address of %s is %q", list, got)
		}
	})
}

func TestFirstAddressRefuses(t *testing.T) {
	for _, s := range []string{
		``, `[`, `{}`, `[["a","b"],]`, `[["a"]]`, `["a","b"]`, `[["a","b"]] `, `[["a","b","c"]]`,
		"[[\"\n\",\"\"]]", `[["\u0100",""]]`, "[[\"\xff\",\"\"]]",
	} {
		if got, err := appendFirstAddress(nil, []byte(s)); err == nil {
			t.Errorf("%q is accepted, as %q", s, got)
		}
	}
}
