package hbase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"
)

// image describes the container of HBase, from docker/.
type image struct {
	ports   [][2]string       // published: address on the host, port in the container
	env     []string          // NAME=value
	command []string          // what it runs
	jars    string            // where they are in it
	files   map[string]string // copied into it, to the names in the repository
	volumes []string
}

const repository = "../.."

// readImage reads the compose file and the last stage of the Dockerfile that it names.
func readImage(t *testing.T) (im image) {
	t.Helper()
	var file struct {
		Services map[string]struct {
			Ports       []string
			Environment map[string]string
			Build       struct{ Dockerfile string }
		}
	}
	b, err := os.ReadFile(filepath.Join(repository, "docker/compose.yaml"))
	if err == nil {
		err = yaml.Unmarshal(b, &file)
	}
	service := file.Services["hbase"]
	if err != nil || len(service.Ports) == 0 || service.Build.Dockerfile == "" {
		t.Fatalf("compose.yaml says %+v of hbase, %v", service, err)
	}
	for _, p := range service.Ports {
		at := strings.LastIndexByte(p, ':')
		im.ports = append(im.ports, [2]string{p[:at], p[at+1:]})
	}
	im.files = make(map[string]string)
	if b, err = os.ReadFile(filepath.Join(repository, service.Build.Dockerfile)); err != nil {
		t.Fatal(err)
	}
	for _, line := range instructions(b) {
		if err := im.add(line); err != nil {
			t.Fatalf("%s: %s: %v", service.Build.Dockerfile, line, err)
		}
	}
	for name, value := range service.Environment {
		im.env = append(im.env, name+"="+value)
	}
	if im.jars == "" || len(im.command) == 0 {
		t.Fatalf("%s says %+v", service.Build.Dockerfile, im)
	}
	return im
}

// instructions are those of the last stage, each in one line.
func instructions(file []byte) (lines []string) {
	file = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAll(file, nil)
	for line := range strings.Lines(strings.ReplaceAll(string(file), "\\\n", " ")) {
		if line = strings.Join(strings.Fields(line), " "); strings.HasPrefix(line, "FROM ") {
			lines = nil
		} else if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

var envLine = regexp.MustCompile(`^(\w+)="([^"]*)"$`)

// add takes one instruction. User and mode of files do not matter here: root runs all.
func (im *image) add(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch name {
	case "COPY":
		to := words[len(words)-1]
		if words[0] == "--from=jars" {
			im.jars = to
			return nil
		}
		for _, from := range words[:len(words)-1] {
			im.files[filepath.Join(to, filepath.Base(from))] = from
		}
	case "ENV":
		found := envLine.FindStringSubmatch(rest)
		if found == nil {
			return errors.New(`expected one NAME="value"`)
		}
		im.env = append(im.env, found[1]+"="+found[2])
	case "ENTRYPOINT", "CMD":
		var words []string
		if err := json.Unmarshal([]byte(rest), &words); err != nil {
			return err
		}
		im.command = append(im.command, words...)
	case "VOLUME":
		im.volumes = append(im.volumes, words...)
	case "RUN", "USER", "EXPOSE":
	default:
		return errors.New("this test does not know the instruction")
	}
	return nil
}

// contain makes this process the container: a root folder of its own, with the programs of
// this machine, which cannot be written to, and what the image has. It returns only an error.
func contain(im image) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until the host has made eth0
		return err
	}
	for _, args := range []string{"link set lo up", "addr add " + containerAddress + "/24 dev eth0", "link set eth0 up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	root := filepath.Join(os.Getenv(netnsRoot), "root")
	if err := im.fill(root); err != nil {
		return err
	}
	if err := errors.Join(syscall.Sethostname([]byte("container")), syscall.Chroot(root), os.Chdir("/")); err != nil {
		return err
	}
	path, err := exec.LookPath(im.command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, im.command, append(im.env, "PATH="+os.Getenv("PATH"), "HOME=/tmp"))
}

// fill fills the root folder. The mounts are seen in this namespace only, and go with it.
func (im image) fill(root string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range append([]string{"/tmp"}, im.volumes...) {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64", "usr", "etc", "dev"} {
		if to, err := os.Readlink("/" + name); err == nil {
			if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
				return err
			}
		} else if err := show("/"+name, filepath.Join(root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := show(os.Getenv(netnsJars), filepath.Join(root, im.jars)); err != nil {
		return err
	}
	for to, from := range im.files {
		b, err := os.ReadFile(filepath.Join(repository, from))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755), os.WriteFile(filepath.Join(root, to), b, 0o644))
		}
		if err != nil {
			return err
		}
	}
	hosts := filepath.Join(root, "tmp", "hosts")
	var text bytes.Buffer
	fmt.Fprintf(&text, "127.0.0.1 localhost\n%s container\n", containerAddress) // as Docker writes them
	if err := os.WriteFile(hosts, text.Bytes(), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(hosts, filepath.Join(root, "etc", "hosts"), "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	proc := filepath.Join(root, "proc")
	if err := os.Mkdir(proc, 0o755); err != nil {
		return err
	}
	return syscall.Mount("proc", proc, "proc", 0, "")
}

// show mounts a folder in a second place, where it cannot be written to.
func show(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	return syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}
