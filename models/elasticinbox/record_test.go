package elasticinbox

import (
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2011-03-12T09:08:07.000000006Z": time.Date(2011, 3, 12, 9, 8, 7, 6, time.UTC),
		"12 March 2011":                  time.Date(2011, 3, 12, 0, 0, 0, 0, time.UTC), // the source design's sample
	} {
		if got, err := parseDate([]byte(text)); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2011-03-12", "March 2011"} {
		if got, err := parseDate([]byte(text)); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
