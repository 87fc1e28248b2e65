package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
)

// Engine is an engine that can be started: its constants, and what differs between engines.
type Engine struct {
	Name     string
	Port     int    // usual first port
	Unit     string // unit of Config.Nodes: "node"
	Flag     string // flag of Config.Nodes: "nodes"
	Nodes    string // describes Config.Nodes in a help text
	MinNodes int    // least Config.Nodes; 0 is one process
	MaxNodes int

	version  string // the version that its pom fetches
	sums     string // the list of its jars
	download string // the approximate size of its jars
	protocol string // protocol of the addresses of Contact
	shell    string // the engine's own client, which takes a host and a port
	heap     int64  // usual heap of a process
	// overhead is the memory of a process outside its heap, in bytes.
	overhead int64
	// patience is how long a process may take to end by itself.
	patience time.Duration
	// peers means that a node starts only when those before it serve, and that clients connect to all of them; else
	// they connect to the first.
	peers bool

	// layOut returns an instance's processes in the order in which they start.
	layOut func(port, count int) []Node
	// command writes a node's configuration and returns how it is started.
	command func(in *Instance, n *Node) (command, error)
	// probe checks once whether the nodes of an instance serve. All of them must be
	// running.
	probe func(ctx context.Context, in *Instance, nodes []*Node) error
}

// command is a java command line without java itself, the class path and the flags of all
// processes of the engine, which config/NAME.flags has.
type command struct {
	flags []string
	main  string
	args  []string
}

var engines = []Engine{cassandra, hbase}

// Engines returns the engines that can be started.
func Engines() []Engine { return slices.Clone(engines) }

func find(name string) (*Engine, error) {
	at := slices.IndexFunc(engines, func(e Engine) bool { return e.Name == name })
	if at < 0 {
		return nil, usagef("no engine %q to start", name)
	}
	return &engines[at], nil
}

//go:embed config
var configFiles embed.FS

var templates = template.Must(template.ParseFS(configFiles, "config/*"))

// writeConfig renders an embedded template to a file of the folder.
func writeConfig(dir, name, tmpl string, data any) (string, error) {
	path := filepath.Join(dir, name)
	var text bytes.Buffer
	err := templates.ExecuteTemplate(&text, tmpl, data)
	if err == nil {
		err = private.WriteFile(path, text.Bytes()) // it may hold a key
	}
	return path, err
}

// configFile returns an embedded file.
func configFile(name string) string {
	text, err := configFiles.ReadFile("config/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// jarsOf returns the folder of the engine's jars, and their pom. A changed pom or list
// gets another folder, because engines may be running from the first one.
func jarsOf(e *Engine) (dir, pom string, err error) {
	cache, err := CacheDir()
	pom = configFile(e.Name + ".pom.xml")
	sum := sha256.Sum256([]byte(pom + e.sums))
	return filepath.Join(cache, "jars", fmt.Sprintf("%s-%s-%.4x", e.Name, e.version, sum)), pom, err
}

// Jars returns the folder of the jars of an engine that Up runs, after comparing them with the engine's list.
// If jars are missing or differ, mvn fetches them.
func Jars(ctx context.Context, name string, progress func(string)) (string, error) {
	e, err := find(name)
	if err != nil {
		return "", err
	}
	dir, pom, err := jarsOf(e)
	if err != nil {
		return "", err
	}
	// A user who can write to the folder could replace the jars after the check.
	if err := private.Make(filepath.Dir(filepath.Dir(dir))); err != nil {
		return "", fmt.Errorf("folder for jars: %w", err)
	}
	unlock, err := lock(ctx, filepath.Dir(dir), "fetches jars", progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	switch err := checkJars(dir, e.sums); {
	case err == nil:
		return dir, nil
	case errors.Is(err, errDamaged):
		progress(fmt.Sprintf("%v; fetching them again", err))
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("remove these jars (do it by hand, then try again): %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	progress(fmt.Sprintf("fetching the jars of %s %s with mvn, once: about %s, to %s", e.Name, e.version, e.download, dir))
	// They come into a folder with a temporary name, which is renamed when it is complete and holds what the list names.
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil { // left by a process that was killed
		return "", err
	}
	defer os.RemoveAll(partial)
	if err := download(ctx, partial, pom); err != nil {
		return "", err
	}
	if err := checkJars(partial, e.sums); err != nil {
		return "", fmt.Errorf("%w; the repository that mvn fetched it from serves something else", err)
	}
	return dir, os.Rename(partial, dir)
}

// download makes a folder and has mvn copy the pom's runtime dependencies to it. Maven
// takes options for its JVM from the folder .mvn next to the pom, or else from the nearest
// .mvn above, which may be anybody's. So download creates an empty .mvn next to the pom. With -C mvn refuses jars
// with a wrong checksum. With -U it requests jars again that an earlier attempt did not find.
func download(ctx context.Context, dir, pom string) error {
	if err := os.MkdirAll(filepath.Join(dir, ".mvn"), 0o700); err != nil {
		return err
	}
	pomFile := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pomFile, []byte(pom), 0o600); err != nil {
		return err
	}
	mvn, err := findMaven()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "-C", "-U", "-ntp", "-Dstyle.color=never", "-f", pomFile,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second // a mvn script that is killed leaves its JVM with the output open
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	const most = 3 // lines that say what went wrong; the errors after the first few are advice on Maven's flags
	said := mavenError.FindAllString(string(out), most)
	if said == nil {
		said = []string{tail(strings.TrimSpace(string(out)), most)}
	}
	return fmt.Errorf("mvn could not fetch the engine's jars (%w); it said:\n%s", err, strings.Join(said, "\n"))
}

// mavenError is an error of Maven, with a text.
var mavenError = regexp.MustCompile(`(?m)^\[ERROR\][ \t]*\S.*`)

func findMaven() (string, error) {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("mvn is not on the PATH, and the engine's jars are fetched with it: install Maven (apt " +
			"install maven)")
	}
	return mvn, nil
}

// errDamaged says that the jars are not those of the list.
var errDamaged = errors.New("jars differ from the known checksums")

// checkJars compares the jars of a folder with an engine's list, config/NAME.sha256, as sha256sum
// writes it: java runs every jar that lies there. "make check CHECK=jars" writes the list again. The
// error is fs.ErrNotExist if there is no folder, and errDamaged if a jar is missing, differs, or is
// not in the list.
func checkJars(dir, list string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w, in %s: %s", errDamaged, dir, fmt.Sprintf(format, args...))
	}
	want := make(map[string]string) // name → SHA-256
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return fmt.Errorf("list of jars: the line %q is not a SHA-256 and a name", line)
		}
		want[name] = sum
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	there, err := fs.Glob(os.DirFS(dir), "*.jar")
	if err != nil {
		return err
	}
	for _, name := range there {
		sum, known := want[name]
		if !known {
			return wrong("%s is not in the list", name)
		}
		jar, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(jar)); got != sum {
			return wrong("%s has the SHA-256 %s; it should be %s", name, got, sum)
		}
		delete(want, name)
	}
	for name := range want {
		return wrong("%s is missing: %d of %d jars are there", name, len(there), len(there)+len(want))
	}
	return nil
}

// javaVersions are those that Cassandra 5.0 and HBase 2.6 both support.
var javaVersions = []string{"11", "17"}

var specVersion = regexp.MustCompile(`(?m)^\s*java\.specification\.version = (\S+)\s*$`)

// findJava returns a java that can run the engine: that of JAVA_HOME, or else of PATH.
func findJava(ctx context.Context, e *Engine) (string, error) {
	java, err := exec.LookPath("java")
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
		_, err = exec.LookPath(java)
	}
	if err != nil {
		return "", fmt.Errorf("no java (%w): install Java 17 (apt install openjdk-17-jre-headless) or set JAVA_HOME", err)
	}
	out, err := exec.CommandContext(ctx, java, "-XshowSettings:properties", "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s does not work (%w): %s", java, err, tail(strings.TrimSpace(string(out)), 1))
	}
	found := specVersion.FindSubmatch(out)
	if found == nil {
		return "", errors.New(java + " does not report its version; set JAVA_HOME to a Java 17")
	}
	if version := string(found[1]); !slices.Contains(javaVersions, version) {
		return "", fmt.Errorf("%s is Java %s, and %s %s runs on Java 11 or 17: set JAVA_HOME to one of those", java,
			version, e.Name, e.version)
	}
	return java, nil
}

// Available returns an error if this machine cannot start the engine: it has no Java
// that can run it, or Maven to fetch its jars.
func Available(ctx context.Context, name string) error {
	if errSystem != nil {
		return errSystem
	}
	e, err := find(name)
	if err != nil {
		return err
	}
	if _, err := findJava(ctx, e); err != nil {
		return err
	}
	dir, _, err := jarsOf(e)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil { // Up checks the jars in it
		return nil
	}
	_, err = findMaven()
	return err
}
