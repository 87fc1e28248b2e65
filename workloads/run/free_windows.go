package run

import "golang.org/x/sys/windows"

// freeBytes is how much this user can write on the disk of a folder; 0: not known.
func freeBytes(dir string) float64 {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0
	}
	return float64(free)
}
