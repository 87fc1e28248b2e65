package run

import "runtime/debug"

// Version is the version of mailbench, also in a build that knows no commit.
const Version = "0.2.0-dev"

// version adds the module's version to Version in a build from a module. A build from a clone
// has a commit, which results give in a field of its own.
func version(info *debug.BuildInfo, commit string) string {
	if v := info.Main.Version; commit == "" && v != "" && v != "(devel)" {
		return Version + "+" + v
	}
	return Version
}
