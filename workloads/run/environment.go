package run

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/mailbench/mailbench/reports/results"
)

// Environment describes this process and machine; dir is a folder on the disk
// that the stores are on.
func Environment(dir string) results.Environment {
	e := results.Environment{
		Version:  Version,
		Go:       runtime.Version(),
		GOGC:     gogc(),
		MaxProcs: runtime.GOMAXPROCS(0),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				e.Commit = s.Value
			case "vcs.modified":
				e.Dirty = s.Value == "true"
			}
		}
		e.Version = version(info, e.Commit)
	}
	machine(&e, dir)
	return e
}

// gogc is the value of the environment variable GOGC, or its default.
func gogc() string {
	if s := os.Getenv("GOGC"); s != "" {
		return s
	}
	return "100"
}

// existing returns dir or the nearest folder above it that exists.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
