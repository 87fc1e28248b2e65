package run

import (
	"runtime/debug"
	"strings"
)

// Version is the version of mailbench, also in a build that knows no commit.
const Version = "0.2.0-dev"

// version is that of a release, in a build from its module or its tag. A build from another version
// of the module adds that to Version. One from a clone has a commit, which results give in a field of
// its own.
func version(info *debug.BuildInfo, commit string) string {
	v := info.Main.Version
	if number, ok := strings.CutPrefix(v, "v"); ok && !strings.ContainsAny(v, "-+") {
		return number
	}
	if commit == "" && v != "" && v != "(devel)" {
		return Version + "+" + v
	}
	return Version
}
