package pebble

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// A loss of power takes what was not synced. In class power every acknowledged
// write is there afterwards. In the others some are gone, which shows that the
// disk of this test forgets.
func TestPowerLoss(t *testing.T) {
	const rows = 50
	for class, survives := range map[drivers.Durability]bool{
		drivers.DurabilityDefault: true, drivers.Power: true, drivers.Process: false, drivers.Memory: false,
	} {
		t.Run(class.String(), func(t *testing.T) {
			o, disk := drivers.Options{Dir: t.TempDir(), Durability: class}, vfs.NewCrashableMem()
			e := mustOpenOn(t, disk, o)
			for n := range rows {
				e.write("put_part", "u", "f", 1, n, int32(1), []byte("body"))
				e.batch("repost", call(0, "room", n), call(1, "room", n, "body", set(), list(), pairs()))
			}
			after := disk.CrashClone(vfs.CrashCloneCfg{})
			e.close()

			e = mustOpenOn(t, after, o)
			defer e.close()
			lost := 2*rows - len(strings.Fields(e.read("post_ids", "room")))
			for n := range rows {
				if e.read("parts", "u", "f", 1, n) != "" {
					lost--
				}
			}
			if survives && lost > 0 || !survives && lost == 0 {
				t.Errorf("%d of %d acknowledged rows are lost", lost, 2*rows)
			}
		})
	}
}

func mustOpenOn(t *testing.T, disk vfs.FS, o drivers.Options) *env {
	t.Helper()
	e, err := openEnvOn(disk, o)
	if err != nil {
		t.Fatal(err)
	}
	e.t = t
	return e
}
