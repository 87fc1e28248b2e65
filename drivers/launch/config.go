package launch

import (
	"fmt"
	"os"
	"path/filepath"
)

// Config says what to start. Where a field is zero, the instance in the folder keeps its
// value, and a new instance gets the default. Engine must be set.
type Config struct {
	Engine string // cassandra or hbase
	// Nodes are Cassandra's nodes (1 to 3), or HBase's region servers in
	// processes of their own (1 or 2). 0 is one process for all.
	Nodes int
	// Dir is the instance's folder; several folders are several instances.
	Dir string
	// Port is what clients connect to: Cassandra's native protocol, HBase's
	// ZooKeeper. Some ports above it are taken too. AnyPort finds free ones.
	Port int
	// Auth starts Cassandra with a login, a restricted role and TLS.
	Auth bool
	// HeapBytes is the heap of each process in bytes, rounded down to whole MiB.
	HeapBytes int64
	// Progress is called with a line, without its newline, for each slow step.
	Progress func(line string)
}

// AnyPort asks for a free port that is followed by enough free ports.
const AnyPort = -1

// UsageError is wrong input: it would fail on any machine.
type UsageError string

func (e UsageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

const mib = 1 << 20

// Bounds of Config.HeapBytes. No engine starts with less; more must be a mistake.
const (
	minHeap = 256 * mib
	maxHeap = 64 << 30
)

// Check checks the configuration, without looking at the machine.
func (c *Config) Check() error {
	e, err := find(c.Engine)
	if err != nil {
		return err
	}
	return c.check(e)
}

func (c *Config) check(e engine) error {
	f := e.facts()
	switch {
	case c.Nodes < 0 || c.Nodes > f.MaxNodes:
		return usagef("%d %ss of %s: expected at most %d", c.Nodes, f.Unit, f.Name, f.MaxNodes)
	case c.Auth && f.Name != "cassandra":
		return usagef("%s with a login: mailbench speaks no Kerberos, so it starts and reaches %s only without a login",
			f.Name, f.Name)
	case c.Auth && c.Nodes > 1:
		return usagef("%d nodes with a login: expected one", c.Nodes)
	case c.Port != AnyPort && c.Port != 0 && (c.Port < 1024 || c.Port > maxPort):
		return usagef("port %d: expected 1024 to %d", c.Port, maxPort)
	case c.HeapBytes != 0 && (c.HeapBytes < minHeap || c.HeapBytes > maxHeap):
		return usagef("heap of %s: expected 256 MiB to 64 GiB", formatBytes(c.HeapBytes))
	}
	return nil
}

// maxPort is the highest first port. An instance uses some ports above its first.
const maxPort = 65535 - 10

// CacheDir returns the folder of the jars, and of instances without a folder of
// their own: $MAILBENCH_CACHE, or mailbench in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("MAILBENCH_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for jars: %w; set MAILBENCH_CACHE to one", err)
	}
	return filepath.Join(dir, "mailbench"), nil
}

// instanceDir returns the absolute path of an instance's folder.
func instanceDir(engine, dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := CacheDir()
	return filepath.Join(cache, "engines", engine), err
}

func formatBytes(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
