package run

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

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
	// What the system does not say stays empty.
	e.Kernel, _ = host.KernelVersion()
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		e.CPU = cpus[0].ModelName
	}
	if memory, err := mem.VirtualMemory(); err == nil {
		e.Memory = int64(memory.Total)
	}
	if usage, err := disk.Usage(existing(dir)); err == nil {
		e.Disk = usage.Fstype
	}
	return e
}

// freeBytes is how much can be written on the disk of a folder; 0: not known.
func freeBytes(dir string) float64 {
	usage, err := disk.Usage(dir)
	if err != nil {
		return 0
	}
	return float64(usage.Free)
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
