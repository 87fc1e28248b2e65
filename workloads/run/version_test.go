package run

import (
	"runtime/debug"
	"testing"
)

// TestVersion: a version is printed whatever a build knows of itself.
func TestVersion(t *testing.T) {
	for _, tc := range []struct{ module, commit, want string }{
		{"", "", Version},
		{"(devel)", "", Version},
		{"v0.0.0-20260101000000-0123456789ab+dirty", "0123456789ab", Version},
		{"v0.0.0-20260101000000-0123456789ab", "", Version + "+v0.0.0-20260101000000-0123456789ab"},
		{"v0.3.0", "", "0.3.0"},
		{"v0.3.0", "0123456789ab", "0.3.0"},
		{"v0.3.0+dirty", "0123456789ab", Version},
		{"v0.3.0-rc.1", "", Version + "+v0.3.0-rc.1"},
	} {
		if got := version(&debug.BuildInfo{Main: debug.Module{Version: tc.module}}, tc.commit); got != tc.want {
			t.Errorf("module %q, commit %q: %q, want %q", tc.module, tc.commit, got, tc.want)
		}
	}
}
