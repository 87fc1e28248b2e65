package run

import "runtime/debug"

// Version is the version of mailbench, also in a build that knows no commit.
const Version = "0.2.0-dev"

// version completes Version with that of the module, in a build that was made from a
// module and not from a clone, whose commit is told beside it.
func version(info *debug.BuildInfo, commit string) string {
	if v := info.Main.Version; commit == "" && v != "" && v != "(devel)" {
		return Version + "+" + v
	}
	return Version
}
