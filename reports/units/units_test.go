package units

import "testing"

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0ns"},
		{Duration(999.4), "999ns"},
		{Duration(999.6), "1.00µs"},
		{Duration(12_345), "12.3µs"},
		{Duration(999_499), "999µs"},
		{Duration(999_600), "1.00ms"},
		{Duration(123.4e6), "123ms"},
		{Duration(93.4e9), "93.4s"},
		{Size(0), "0B"},
		{Size(0.5), "0.50B"},
		{Size(999), "999B"},
		{Size(1000), "1.00KB"},
		{Size(24_072), "24.1KB"},
		{Size(25.3e9), "25.3GB"},
		{Size(5e12), "5.00TB"},
		{Amount(3), "3"},
		{Amount(2.04), "2.04"},
		{Amount(12_300), "12.3k"},
		{Amount(4.5e6), "4.50M"},
		{Clock(59.9), "00:59"},
		{Clock(3723), "1:02:03"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine("a\x00b\r\nc\td\xff\u200be"); got != "ab c de" {
		t.Errorf("OneLine = %q", got)
	}
}
