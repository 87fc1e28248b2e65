// Package launch starts, watches and stops real engines on loopback, for tests
// and first runs: Cassandra with up to three nodes, and HBase in one process or with
// up to two region servers in processes of their own. It needs only Java and Maven:
// the user's own mvn fetches the engine's jars once.
//
// An instance is a folder. It holds the configuration, data and log of each node,
// and a state file that names the processes. The state file identifies a process by
// its id and its start time, so launch never takes another process with the same id
// for a node. Nodes outlive the process that started them.
package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas/words"
)

// Instance is an engine that was started: a folder and its processes.
type Instance struct {
	// Started names the nodes that Up and Start have started.
	Started []string

	engine   *Engine
	dir      string
	state    *state
	progress func(string)
}

// Up starts the nodes of an instance that are not running, and returns when all nodes
// serve. If that fails, it stops the nodes that it started, and a folder without an instance is as it was.
func Up(ctx context.Context, c Config) (_ *Instance, err error) {
	if err := cmp.Or(errSystem, c.Check()); err != nil {
		return nil, err
	}
	in, err := instance(c.Engine, c.Dir)
	if err != nil {
		return nil, err
	}
	if c.Progress != nil {
		in.progress = c.Progress
	}
	var made []string
	for _, name := range []string{filepath.Join(in.dir, lockName), in.dir} {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			made = append(made, name)
		}
	}
	unlock, err := lock(ctx, in.dir, "works on "+in.dir, in.progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer func() {
		for _, name := range made {
			if err != nil && errors.Is(in.reload(), ErrAbsent) {
				_ = os.Remove(name) // a folder with more files stays
			}
		}
	}()
	if err = in.reload(); err == nil {
		err = in.matches(c)
	} else if errors.Is(err, ErrAbsent) {
		err = in.plan(c)
	}
	if err != nil {
		return nil, err
	}
	if err := private.Restrict(in.dir); err != nil {
		return nil, err
	}
	return in, in.start(ctx)
}

// Open returns the instance of a folder ("" is the engine's usual one), whether
// it is running or not. The error is ErrAbsent if there is none.
func Open(engine, dir string) (*Instance, error) {
	in, err := instance(engine, dir)
	if err != nil {
		return nil, err
	}
	return in, in.reload()
}

// instance returns the instance of a folder without its state.
func instance(engine, dir string) (*Instance, error) {
	e, err := find(engine)
	if err == nil && dir == "" {
		dir, err = CacheDir()
		dir = filepath.Join(dir, "engines", engine)
	}
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	return &Instance{engine: e, dir: dir, progress: func(string) {}}, err
}

// plan makes the state of an instance for a folder that holds nothing but a lock, so that no
// engine writes among somebody else's files.
func (in *Instance) plan(c Config) error {
	entries, err := os.ReadDir(in.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			return fmt.Errorf("%s contains files of other programs, such as %s; name an empty folder", in.dir, e.Name())
		}
	}
	e, s := in.engine, &state{Config: c, Version: in.engine.version}
	s.Config.Nodes, s.HeapBytes = max(c.Nodes, e.MinNodes), cmp.Or(c.HeapBytes, e.heap)
	switch c.Port {
	case 0:
		s.Port = e.Port
	case AnyPort:
		if s.Port, err = freePorts(e, s.Config.Nodes); err != nil {
			return err
		}
	}
	s.Nodes = e.layOut(s.Port, s.Config.Nodes)
	in.state = s
	return nil
}

// matches returns an error if the configuration differs from the instance's.
func (in *Instance) matches(c Config) error {
	s := in.state
	purge := fmt.Sprintf("remove it first (mailbench engine down %s --purge) or name another --dir", s.Engine)
	switch {
	case c.Nodes != 0 && c.Nodes != s.Config.Nodes:
		return fmt.Errorf("%s contains %s, not %d: %s", in.dir, in, c.Nodes, purge)
	case c.Port > 0 && c.Port != s.Port:
		return fmt.Errorf("%s contains %s on port %d, not %d: %s", in.dir, s.Engine, s.Port, c.Port, purge)
	case c.Auth && !s.Auth:
		return fmt.Errorf("%s contains %s without a login: %s", in.dir, s.Engine, purge)
	case c.Datacenters != 0 && c.Datacenters != s.Datacenters:
		return fmt.Errorf("%s contains %s in %d datacenters, not %d: %s", in.dir, s.Engine, max(s.Datacenters, 1),
			c.Datacenters, purge)
	case len(c.Options) > 0 && !maps.Equal(c.Options, s.Options):
		return fmt.Errorf("%s contains %s with other options than %v: %s", in.dir, s.Engine, c.Options, purge)
	case c.HeapBytes != 0 && c.HeapBytes != s.HeapBytes:
		return fmt.Errorf("%s contains %s with heaps of %s, not %s: %s", in.dir, s.Engine, words.Size(float64(s.HeapBytes)),
			words.Size(float64(c.HeapBytes)), purge)
	case s.Version != in.engine.version:
		return fmt.Errorf("%s contains data of %s %s, and this mailbench starts %s: %s", in.dir, s.Engine, s.Version,
			in.engine.version, purge)
	}
	return nil
}

// bootTimeout bounds the start of one node. Alone on two processors a node
// takes 8 to 15 s; with thirty other busy processes it took 90 s.
// probeTimeout bounds one probe of the nodes.
const (
	bootTimeout  = 5 * time.Minute
	probeTimeout = time.Minute
)

// start starts the nodes that are not running, and waits until all nodes serve.
func (in *Instance) start(ctx context.Context) (err error) {
	all, nodes := in.running(true), in.running(false)
	if len(nodes) == 0 {
		return in.await(ctx, all)
	}
	java, err := findJava(ctx, in.engine)
	if err != nil {
		return err
	}
	var planned []Node
	for _, n := range nodes {
		planned = append(planned, *n)
	}
	if err := errors.Join(checkPorts(planned), checkMemory(in.engine, in.state.HeapBytes, len(nodes))); err != nil {
		return err
	}
	lib, err := Jars(ctx, in.engine.Name, in.progress)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, kill(context.WithoutCancel(ctx), nodes...))
		}
	}()
	for i, n := range nodes {
		in.progress(fmt.Sprintf("starting %s %s on %s, log in %s", in.engine.Name, n.Name, n.Address, in.logPath(n)))
		if err := in.spawn(n, java, lib); err != nil {
			return fmt.Errorf("start %s of %s: %w", n.Name, in.engine.Name, err)
		}
		in.Started = append(in.Started, n.Name)
		all = append(all, n)
		if in.engine.peers || i == len(nodes)-1 {
			if err := in.await(ctx, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// spawn starts a node's process and records it in the state file.
func (in *Instance) spawn(n *Node, java, lib string) error {
	dir := in.nodeDir(n)
	tmp := filepath.Join(dir, "tmp") // Java unpacks native libraries there
	for _, folder := range []string{dir, tmp} {
		if err := private.Make(folder); err != nil {
			return err
		}
	}
	c, err := in.engine.command(in, n)
	if err != nil {
		return err
	}
	heap := fmt.Sprintf("%dm", in.state.HeapBytes/mib)
	args := []string{"-Xms" + heap, "-Xmx" + heap, "-XX:+ExitOnOutOfMemoryError", "-Djava.io.tmpdir=" + tmp}
	for line := range strings.Lines(configFile(in.engine.Name + ".flags")) {
		if !strings.HasPrefix(line, "#") {
			args = append(args, strings.Fields(line)...)
		}
	}
	cmd := exec.Command(java, slices.Concat(args, c.flags,
		[]string{"-cp", dir + string(os.PathListSeparator) + filepath.Join(lib, "*"), c.main}, c.args)...)
	// HBase logs all variables of its environment, and a node outlives its command. So no password may be among them.
	cmd.Dir, cmd.Env = dir, slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(passedOn, name) && !strings.HasPrefix(name, "LC_")
	})
	if info, err := os.Stat(in.logPath(n)); err == nil {
		n.logFrom = info.Size()
	}
	_, err = startProcess(cmd, in.logPath(n), func(p Process) error {
		n.Process = p
		return in.state.save(in.dir)
	})
	return err
}

// passedOn are the variables of mailbench's environment that a node gets, with LC_….
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS",
}

// await waits until the started nodes serve. It gives up if one of them ends.
func (in *Instance) await(ctx context.Context, nodes []*Node) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bootTimeout, errSlow)
	defer cancel()
	var last error
	for {
		attempt, stop := context.WithTimeout(ctx, probeTimeout)
		last = in.engine.probe(attempt, in, nodes)
		stop()
		if last == nil {
			return nil
		}
		for _, n := range nodes {
			if !n.Running() {
				return fmt.Errorf("%s %s ended while it was starting; the end of its log, %s:\n%s",
					in.engine.Name, n.Name, in.logPath(n), in.logTail(n))
			}
		}
		select {
		case <-ctx.Done():
			n := nodes[len(nodes)-1]
			if !errors.Is(context.Cause(ctx), errSlow) {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%s: %w (%s): %w; the end of the log, %s:\n%s",
				in.engine.Name, errSlow, bootTimeout, last, in.logPath(n), in.logTail(n))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

var errSlow = errors.New("not ready in time")

// running returns the nodes whose process runs, or else the others.
func (in *Instance) running(yes bool) []*Node {
	var found []*Node
	for i := range in.state.Nodes {
		if n := &in.state.Nodes[i]; n.Running() == yes {
			found = append(found, n)
		}
	}
	return found
}

// Engine is the name of the engine.
func (in *Instance) Engine() string { return in.engine.Name }

func (in *Instance) nodeDir(n *Node) string { return filepath.Join(in.dir, n.Name) }

// Files of an instance's folder, next to one folder for each node.
const (
	stateName = "mailbench-engine.json" // also the mark that the folder is mailbench's
	lockName  = "lock"
	sharedDir = "shared" // files that HBase's processes share
	authDir   = "auth"   // passwords and certificates
)

// ErrAbsent is the error for a folder that holds no instance.
var ErrAbsent = errors.New("engine was not started")

// state is what the state file holds: the configuration with its defaults, and the nodes.
type state struct {
	Config
	Version string `json:"version"`
	Nodes   []Node `json:"nodes"`
}

// Node is one process of an instance.
type Node struct {
	Name string `json:"name"` // node1; hbase; zookeeper, master, regionserver1
	// Address is what clients connect to, host:port.
	Address string   `json:"address"`
	Listens []string `json:"listens"` // all addresses that it listens on
	Process Process  `json:"process"` // the last one that was started

	logFrom int64 // length in bytes of the log when this process started the node, else 0
}

// Process identifies a process, even if its id is used again.
type Process struct {
	PID     int       `json:"pid"`
	Start   string    `json:"start"` // start time: Linux: boot id and clock ticks since boot; macOS: seconds since 1970
	Started time.Time `json:"started"`
}

// reload reads the folder's state file. It returns ErrAbsent if there is none. The nodes of an instance follow from its
// size and its port: only their processes are taken from the file, because names become folders that launch removes.
func (in *Instance) reload() error {
	err := private.Check(in.dir)
	var data []byte
	if err == nil {
		data, err = private.ReadFile(filepath.Join(in.dir, stateName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: no %s in %s", ErrAbsent, in.engine.Name, in.dir)
	} else if err != nil {
		return err
	}
	damaged := func(err error) error {
		return fmt.Errorf("%s is damaged (%w): end the engine's processes by hand and remove %s",
			filepath.Join(in.dir, stateName), err, in.dir)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return damaged(err)
	}
	e := in.engine
	if s.Engine != e.Name {
		return fmt.Errorf("%s contains %s, not %s", in.dir, s.Engine, e.Name)
	}
	if err := s.Check(); err != nil {
		return damaged(err)
	}
	if s.Config.Nodes < e.MinNodes || s.Port <= 0 || s.HeapBytes <= 0 {
		return damaged(fmt.Errorf("expected at least %s, a port and a heap; found %d, port %d, heap %d",
			words.Plural(e.MinNodes, e.Unit), s.Config.Nodes, s.Port, s.HeapBytes))
	}
	nodes := e.layOut(s.Port, s.Config.Nodes)
	if len(s.Nodes) != len(nodes) {
		return damaged(fmt.Errorf("it has %d nodes, expected %d", len(s.Nodes), len(nodes)))
	}
	for i := range nodes {
		if found := s.Nodes[i].Name; found != nodes[i].Name {
			return damaged(fmt.Errorf("it has a node %q, expected %q", found, nodes[i].Name))
		}
		nodes[i].Process = s.Nodes[i].Process
	}
	s.Nodes = nodes
	in.state = &s
	return nil
}

// save writes the state file whole or not at all.
func (s *state) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := private.WriteFile(filepath.Join(dir, stateName), append(data, '\n')); err != nil {
		return fmt.Errorf("save the state of the instance: %w", err)
	}
	return nil
}

// lock takes the lock of a folder, and creates the folder if it is absent. It waits
// while another process has the lock, and says what that one does. The lock ends with its process.
func lock(ctx context.Context, dir, other string, progress func(string)) (unlock func() error, err error) {
	for waited := false; ; waited = true {
		if err := private.Make(dir); err != nil {
			return nil, err
		}
		unlock, err := private.Lock(filepath.Join(dir, lockName))
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, private.ErrLocked):
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		case !waited:
			progress("waiting for another mailbench that " + other)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
