package launch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// manifestName is the file that lists the jars. It is written once all jars are
// there, and checked each time they are used.
const manifestName = "MANIFEST"

// errDamaged says that the jars are not those that were fetched.
var errDamaged = errors.New("damaged")

// jarsOf returns the folder of the engine's jars, and their pom. A changed pom gets
// another folder, because engines may be running from the first one.
func jarsOf(e engine) (dir string, pom []byte, err error) {
	f := e.facts()
	cache, err := CacheDir()
	if err != nil {
		return "", nil, err
	}
	pom, err = configFiles.ReadFile("config/" + f.Name + ".pom.xml")
	return filepath.Join(cache, "jars", fmt.Sprintf("%s-%s-%.4x", f.Name, f.version, sha256.Sum256(pom))), pom, err
}

// jars returns the folder of the engine's jars. If jars are missing or damaged, mvn
// fetches them.
func jars(ctx context.Context, e engine, progress func(string)) (string, error) {
	dir, pom, err := jarsOf(e)
	if err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Dir(dir), func() { progress("waiting for another mailbench that fetches jars") })
	if err != nil {
		return "", err
	}
	defer unlock()
	switch err := checkManifest(dir); {
	case err == nil:
		return dir, nil
	case errors.Is(err, errDamaged):
		progress(fmt.Sprintf("%v; fetching them again", err))
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("remove damaged jars (do it by hand, then try again): %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	f := e.facts()
	progress(fmt.Sprintf("fetching the jars of %s %s with mvn, once: about %s, to %s", f.Name, f.version, f.download, dir))
	return dir, fetch(ctx, dir, pom)
}

// fetch fills a folder under a temporary name, and renames it when it is complete.
func fetch(ctx context.Context, dir string, pom []byte) error {
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil { // of a process that was killed
		return err
	}
	defer os.RemoveAll(partial)
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	pomFile := filepath.Join(partial, "pom.xml")
	if err := os.WriteFile(pomFile, pom, 0o644); err != nil {
		return err
	}
	if err := maven(ctx, pomFile, partial); err != nil {
		return err
	}
	if err := writeManifest(partial); err != nil {
		return err
	}
	return os.Rename(partial, dir)
}

// maven makes mvn copy the pom's runtime dependencies to a folder. With -U it asks
// again for those that an earlier attempt did not find.
func maven(ctx context.Context, pom, dir string) error {
	mvn, err := findMaven()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "-U", "-ntp", "-Dstyle.color=never", "-f", pom,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	cmd.WaitDelay = time.Second // for what a mvn that is a script has left running
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("mvn could not fetch the engine's jars (%w); it said:\n%s", err, lastErrors(string(out)))
	}
	return nil
}

func findMaven() (string, error) {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("mvn is not on the PATH, and the engine's jars are fetched with it: install Maven (apt install maven)")
	}
	return mvn, nil
}

// lastErrors returns the few lines of Maven's output that say what went wrong.
func lastErrors(out string) string {
	const most = 3 // Maven's last errors but these are advice on its flags
	var found []string
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line),
			"[ERROR]"); ok && strings.TrimSpace(text) != "" && len(found) < most {
			found = append(found, strings.TrimSpace(line))
		}
	}
	if len(found) == 0 {
		return tail(out, most)
	}
	return strings.Join(found, "\n")
}

// writeManifest lists the folder's jars with their sizes.
func writeManifest(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("mvn ended well and fetched no jars; run mvn -v to see that it is Maven")
	}
	var b strings.Builder
	for _, jar := range found {
		info, err := os.Stat(jar)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%d %s\n", info.Size(), info.Name())
	}
	return os.WriteFile(filepath.Join(dir, manifestName), []byte(b.String()), 0o644)
}

// checkManifest finds jars that are missing or cut short. The error is
// fs.ErrNotExist if there are none at all, errDamaged if they must be fetched again.
func checkManifest(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return fmt.Errorf("the jars in %s are %w: %w", dir, errDamaged, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	jars := 0
	for ; lines.Scan(); jars++ {
		var size int64
		var name string
		if _, err := fmt.Sscanf(lines.Text(), "%d %s", &size, &name); err != nil {
			return fmt.Errorf("the jars in %s are %w: %s has the line %q", dir, errDamaged, manifestName, lines.Text())
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("the jars in %s are %w: %s is missing", dir, errDamaged, name)
		}
		if info.Size() != size {
			return fmt.Errorf("the jars in %s are %w: %s has %d bytes, not %d", dir, errDamaged, name, info.Size(), size)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if jars == 0 {
		return fmt.Errorf("the jars in %s are %w: %s lists none", dir, errDamaged, manifestName)
	}
	return nil
}
