package target

import (
	"strings"
	"testing"
)

func TestDatasetFits(t *testing.T) {
	loaded := Dataset{Model: "james", Workload: "quick", Mail: "a", Schema: "b", Seed: 1, Complete: true}
	for _, c := range []struct {
		name   string
		change func(have, want *Dataset)
		differ string
	}{
		{"same", func(_, _ *Dataset) {}, ""},
		{"another rate or name", func(_, want *Dataset) { want.Workload = "quick2" }, ""},
		{"mail", func(_, want *Dataset) { want.Mail = "x" }, "mail or population"},
		{"schema", func(_, want *Dataset) { want.Schema = "x" }, "schema of james"},
		{"seed", func(_, want *Dataset) { want.Seed = 2 }, "seed (it was 1, now 2)"},
		{"broken off", func(have, _ *Dataset) { have.Complete = false }, "not loaded to the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			have, want := loaded, loaded
			c.change(&have, &want)
			if err := have.write(dir); err != nil {
				t.Fatal(err)
			}
			read, err := ReadDataset(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = read.fits(&want, dir)
			if c.differ == "" && err != nil || c.differ != "" && (err == nil || !strings.Contains(err.Error(), c.differ)) {
				t.Errorf("err = %v, want %q", err, c.differ)
			}
		})
	}
	if d, err := ReadDataset(t.TempDir()); d != nil || err != nil {
		t.Errorf("of an empty folder: %v, %v", d, err)
	}
}
