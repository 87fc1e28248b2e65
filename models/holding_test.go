package models

import "testing"

// TestPacked: no less memory is returned than was held, and at most twice as much.
func TestPacked(t *testing.T) {
	const mb = 1 << 20
	for _, n := range []int64{0, 1, mb, mb + 1, 2 * mb, 2*mb + 1, 3 * 16 * mb, 1 << 34} {
		for _, h := range []Holding{{Open: n}, {Attachment: n}, {Move: n}, {Row: n}} {
			got := Pack(h).Holding()
			if n <= LargeMessage {
				if got != (Holding{}) {
					t.Errorf("%+v came back as %+v, want nothing", h, got)
				}
				continue
			}
			if r := got.Reading(); r < n || r >= 2*n || got.Row > 0 != (h.Row > 0) {
				t.Errorf("%+v came back as %+v", h, got)
			}
		}
	}
	if got := Pack(Holding{Open: 1 << 50}).Holding().Open; got != LargeMessage<<15 {
		t.Errorf("1 PB came back as %d", got)
	}
}
