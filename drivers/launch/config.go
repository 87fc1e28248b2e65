package launch

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/mailbench/mailbench/schemas/words"
)

// Config says what to start. Where a field is zero, the instance in the folder keeps its
// value, and a new instance gets the default. Engine must be set.
type Config struct {
	Engine string `json:"engine"` // cassandra or hbase
	// Nodes are Cassandra's nodes (1 to 3), or HBase's region servers in
	// processes of their own (1 or 2). 0 is one process for all.
	Nodes int `json:"count"`
	// Dir is the instance's folder; several folders are several instances.
	Dir string `json:"-"`
	// Port is what clients connect to: Cassandra's native protocol, HBase's
	// ZooKeeper. Some ports above it are taken too. AnyPort finds free ones.
	Port int `json:"port"`
	// Auth starts Cassandra with a login, a restricted role and TLS.
	Auth bool `json:"auth,omitempty"`
	// Datacenters are Cassandra's datacenters, dc1 and dc2: nodes are put into them in turn, each
	// into a rack of its own. 0 is one datacenter without racks.
	Datacenters int `json:"datacenters,omitempty"`
	// Options are lines of cassandra.yaml, as name → value. They replace those that mailbench
	// writes, but for names, addresses and folders.
	Options map[string]string `json:"options,omitempty"`
	// HeapBytes is the heap of each process in bytes, rounded down to whole MiB.
	HeapBytes int64 `json:"heap_bytes"`
	// Progress is called with a line, without its newline, for each slow step.
	Progress func(line string) `json:"-"`
}

// AnyPort means a free port that is followed by enough free ports.
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
	switch {
	case c.Nodes < 0 || c.Nodes > e.MaxNodes:
		return usagef("%s of %s: expected at most %d", words.Plural(c.Nodes, e.Unit), e.Name, e.MaxNodes)
	case c.Auth && e.Name != "cassandra":
		return usagef("%s with a login: mailbench speaks no Kerberos, so it starts and reaches %s only without a login",
			e.Name, e.Name)
	case c.Auth && c.Nodes > 1:
		return usagef("%d nodes with a login: expected one", c.Nodes)
	case (c.Datacenters != 0 || len(c.Options) > 0) && e.Name != "cassandra":
		return usagef("%s: --datacenters and --config are for cassandra", e.Name)
	case c.Datacenters < 0 || c.Datacenters > max(c.Nodes, 1):
		return usagef("%d datacenters for %d nodes: expected at most one a node", c.Datacenters, max(c.Nodes, 1))
	case c.Port != AnyPort && c.Port != 0 && (c.Port < 1024 || c.Port > maxPort):
		return usagef("port %d: expected 1024 to %d", c.Port, maxPort)
	case c.HeapBytes != 0 && (c.HeapBytes < minHeap || c.HeapBytes > maxHeap):
		return usagef("heap of %s: expected 256MiB to 64GiB", words.Size(float64(c.HeapBytes)))
	}
	for name, value := range c.Options {
		switch {
		case !optionName.MatchString(name):
			return usagef("option %q: expected a name of cassandra.yaml", name)
		case slices.Contains(ownOptions, name):
			return usagef("option %s: mailbench sets it, so that the engine stays on loopback and in its folder", name)
		case value == "" || strings.ContainsAny(value, "\r\n#"):
			return usagef("option %s: %q; expected a value on one line", name, value)
		}
	}
	return nil
}

// optionName is what names of cassandra.yaml look like.
var optionName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// ownOptions are those that keep an instance on loopback and in its folder.
var ownOptions = []string{
	"cluster_name", "seed_provider", "listen_address", "listen_interface", "storage_port", "ssl_storage_port",
	"rpc_address", "rpc_interface", "broadcast_address", "broadcast_rpc_address", "native_transport_port",
	"data_file_directories", "local_system_data_file_directory", "commitlog_directory", "hints_directory",
	"saved_caches_directory", "cdc_raw_directory", "endpoint_snitch", "authenticator", "authorizer", "role_manager",
	"client_encryption_options", "server_encryption_options",
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

// checkPorts returns an error if a node could not listen on one of its addresses.
func checkPorts(nodes []Node) error {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Listens...)
	}
	for _, address := range all {
		l, err := net.Listen("tcp", address)
		host, port, _ := net.SplitHostPort(address)
		switch {
		case err == nil:
			l.Close()
		case errors.Is(err, syscall.EADDRINUSE):
			return fmt.Errorf("port %s on %s is taken, perhaps by another engine: end that one, or name another --port and --dir",
				port, host)
		case errors.Is(err, syscall.EADDRNOTAVAIL): // Linux has all of 127.0.0.0/8, macOS one address
			return fmt.Errorf("cannot listen on %s: start one node, or add the address to the loopback device (sudo ifconfig "+
				"lo0 alias %[1]s)", host)
		default:
			return fmt.Errorf("cannot listen on %s: %w", address, err)
		}
	}
	return nil
}

// freePorts finds a first port with which all addresses of an instance are free. It stays
// below 32768, where Linux takes the ports of outgoing connections.
func freePorts(e *Engine, count int) (int, error) {
	const lowest, highest, tries = 20000, 32000, 100
	var err error
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		if err = checkPorts(e.layOut(port, count)); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free ports: %w", err)
}

// checkMemory returns an error if the nodes would make the machine swap, or exceed the limit of a container, so that
// the kernel kills a process.
func checkMemory(e *Engine, heap int64, processes int) error {
	memory, err := mem.VirtualMemory()
	if err != nil {
		return fmt.Errorf("find out how much memory is free: %w", err)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // only Linux has it
	available := min(int64(memory.Available), cgroupMemory(string(groups), "/sys/fs/cgroup"))
	if need := (heap + e.overhead) * int64(processes); need > available {
		return fmt.Errorf("not enough memory: %s of %s need %s and %s is available; start fewer, or give each less with --heap",
			words.Plural(processes, "process"), e.Name, words.Size(float64(need)), words.Size(float64(available)))
	}
	return nil
}

// cgroupMemory returns how many bytes the control groups leave this process. Beyond that
// the kernel kills, however much the machine has. cgroups is the text of /proc/self/cgroup.
// root is the folder where they are mounted. Without a limit the result is math.MaxInt64.
func cgroupMemory(cgroups, root string) int64 {
	left := int64(math.MaxInt64)
	for line := range strings.Lines(cgroups) {
		// "0::/path" of version 2; "7:memory:/path" of version 1
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && parts[1] != "memory" {
			continue
		}
		mount, files := root, memoryFiles{"memory.max", "memory.current", "inactive_file"}
		if parts[1] != "" {
			mount = filepath.Join(root, "memory")
			files = memoryFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) { // every group above limits too
			left = min(left, files.left(filepath.Join(mount, group)))
			if group == "/" {
				break
			}
		}
	}
	return left
}

// memoryFiles are the names of a group's files with its limit and its use, and of the
// line in memory.stat with what the kernel can take back: cached files.
type memoryFiles struct{ limit, used, cached string }

// left returns how many bytes a group may still take.
func (m memoryFiles) left(group string) int64 {
	var limit, used int64
	for name, number := range map[string]*int64{m.limit: &limit, m.used: &used} {
		text, err := os.ReadFile(filepath.Join(group, name))
		if err == nil {
			*number, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		}
		if err != nil { // other text, such as "max"
			return math.MaxInt64
		}
	}
	stat, _ := os.ReadFile(filepath.Join(group, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		if n, ok := strings.CutPrefix(line, m.cached+" "); ok {
			cached, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			used -= cached
		}
	}
	return max(limit-used, 0)
}
