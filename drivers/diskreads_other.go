//go:build !linux

package drivers

// DiskReads returns -1: this system does not tell how much processes read from disk.
func DiskReads(...int) int64 { return -1 }
