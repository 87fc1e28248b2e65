package strict

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "200": 200, "8KB": 8000, "8 KB": 8000, "1.5MB": 1_500_000, "1KiB": 1024, "2GiB": 2 << 30, "7B": 7, "1e3": 1000,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "KB", "-1", "-1KB", "1.5", "0.0001KB", "1TB", "8kb", "0x10", "1_000", "inf", "NaN", "1e300", "8KBKB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}
