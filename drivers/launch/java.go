package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// javaVersions are those that Cassandra 5.0 and HBase 2.6 both support.
var javaVersions = []string{"11", "17"}

var specVersion = regexp.MustCompile(`(?m)^\s*java\.specification\.version = (\S+)\s*$`)

// findJava returns a java that can run the engine: that of JAVA_HOME, or else of PATH.
func findJava(ctx context.Context, e engine) (string, error) {
	f := e.facts()
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
		return "", fmt.Errorf("%s does not work (%w): %s", java, err, tail(string(out), 1))
	}
	found := specVersion.FindSubmatch(out)
	if found == nil {
		return "", errors.New(java + " does not say its version; set JAVA_HOME to a Java 17")
	}
	if version := string(found[1]); !slices.Contains(javaVersions, version) {
		return "", fmt.Errorf("%s is Java %s, and %s %s runs on Java 11 or 17: set JAVA_HOME to one of those", java,
			version, f.Name, f.version)
	}
	return java, nil
}

// Available returns an error if this machine cannot start the engine: it lacks a Java
// that can run it, or Maven to fetch its jars.
func Available(ctx context.Context, name string) error {
	if err := supported(); err != nil {
		return err
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
