package strict

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"label", "username", "id", "from", "n", "p99", "p99.9", "list.p99.9"}
	for word, want := range map[string]string{
		"lable": "label", "Label": "label", "labels": "label", "usrname": "username", "ix": "id",
		"form": "from", "p999": "p99.9", "list.p999": "list.p99.9", "subject": "", "x": "", "": "", "m": "", "identity": "", "etikett-für-ordner": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
