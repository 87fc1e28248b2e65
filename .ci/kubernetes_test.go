package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const manifest = "docker/kubernetes.yaml"

// manifests are the documents of the manifest.
func manifests(t *testing.T, text []byte) []*yaml.Node {
	t.Helper()
	var all []*yaml.Node
	for in := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := in.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc.Content[0])
	}
}

// job has the fields of a Job that a test reads.
type job struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		CompletionMode                         string `yaml:"completionMode"`
		Completions, Parallelism, BackoffLimit int
		Template                               struct {
			Spec struct {
				RestartPolicy   string `yaml:"restartPolicy"`
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Args            []string
					SecurityContext struct {
						ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
					} `yaml:"securityContext"`
					Resources struct{ Requests, Limits map[string]string }
				}
			}
		}
	}
}

// TestKubernetesSegments: the Job runs as many segments as it says, all together, and the merge
// reads what each of them writes.
func TestKubernetesSegments(t *testing.T) {
	jobs := map[string]job{}
	for _, doc := range manifests(t, readFile(t, manifest)) {
		var j job
		if err := doc.Decode(&j); err != nil {
			t.Fatal(err)
		}
		if j.Kind == "Job" {
			jobs[j.Metadata.Name] = j
		}
	}
	segments, merge := jobs["mailbench-segments"].Spec, jobs["mailbench-merge"].Spec
	n := segments.Completions
	if n < 2 || segments.Parallelism != n || segments.CompletionMode != "Indexed" || segments.Template.Spec.RestartPolicy != "Never" {
		t.Errorf("the segments' Job: %+v", segments)
	}
	args := segments.Template.Spec.Containers[0].Args
	for _, want := range []string{"--segment=job/" + strconv.Itoa(n), "--start=$(START)", "--output=/results/$(JOB_COMPLETION_INDEX)"} {
		if !slices.Contains(args, want) {
			t.Errorf("the segments' Job lacks %s: %q", want, args)
		}
	}
	var read []string
	for _, a := range merge.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(a, "/results/") {
			read = append(read, a)
		}
	}
	var written []string
	for i := range n {
		written = append(written, fmt.Sprintf("/results/%d", i))
	}
	if !slices.Equal(read, written) {
		t.Errorf("the merge reads %q; the segments write %q", read, written)
	}
	for name, j := range jobs {
		pod := j.Spec.Template.Spec
		if !pod.SecurityContext.RunAsNonRoot || !pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem || len(pod.Containers[0].Resources.Limits) == 0 {
			t.Errorf("%s: runs as root, writes to its image, or has no limits: %+v", name, pod)
		}
	}
}

// TestImage: base images are pinned, nothing of the build is in the image, and it does not
// run as root.
func TestImage(t *testing.T) {
	const name = "docker/Dockerfile"
	checkDockerfile(t, name)
	text := string(readFile(t, name))
	if strings.Count(text, "\nFROM ") != 2 || !strings.Contains(text, "\nUSER 65532:65532\n") {
		t.Errorf("%s has other stages than a build and an image, or another user:\n%s", name, text)
	}
}

// The module that has Kubernetes' published schema in the form that kubectl apply
// --server-side works with: names and types of all fields, generated from the API's OpenAPI.
const (
	kubernetesModule = "k8s.io/client-go@v0.35.0"
	kubernetesSum    = "h1:IAW0ifFbfQQwQmga0UdoH0yvdqrbwMdq9vIFEhRpxBE="
)

// apiType is a type of that schema.
type apiType struct {
	Name      string   `yaml:"name"`
	Scalar    string   `yaml:"scalar"`
	NamedType string   `yaml:"namedType"`
	List      *apiList `yaml:"list"`
	Map       *apiMap  `yaml:"map"`
}

type apiList struct {
	Element apiType `yaml:"elementType"`
}

type apiMap struct {
	Fields []struct {
		Name string
		Type apiType
	}
	Element *apiType `yaml:"elementType"`
}

// api is the schema by the names of its types.
type api map[string]*apiType

// kubernetesAPI reads the schema from the module, which Go's module proxy has. A test is
// skipped if it cannot be had.
func kubernetesAPI(t *testing.T) api {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", kubernetesModule)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if jerr := json.Unmarshal(out, &module); err != nil || jerr != nil {
		t.Skipf("%s cannot be had: %v, %s", kubernetesModule, err, module.Error)
	}
	if module.Sum != kubernetesSum {
		t.Fatalf("%s has the sum %s, not %s", kubernetesModule, module.Sum, kubernetesSum)
	}
	_, text, ok := strings.Cut(string(readFile(t, filepath.Join(module.Dir, "applyconfigurations", "internal", "internal.go"))), "typed.YAMLObject(`")
	text, _, end := strings.Cut(text, "`)")
	var schema struct{ Types []*apiType }
	if err := yaml.Unmarshal([]byte(text), &schema); !ok || !end || err != nil {
		t.Fatalf("%s has its schema no more where it was: %v", kubernetesModule, err)
	}
	all := api{}
	for _, one := range schema.Types {
		all[one.Name] = one
	}
	return all
}

// check returns what of a value is not as the type says.
func (a api) check(at string, v *yaml.Node, want *apiType) []string {
	switch {
	case want.NamedType != "":
		if a[want.NamedType] == nil {
			return []string{at + ": the schema has no " + want.NamedType}
		}
		return a.check(at, v, a[want.NamedType])
	case want.Scalar != "":
		tags := map[string][]string{
			"string": {"!!str"}, "numeric": {"!!int", "!!float"}, "boolean": {"!!bool"}, "untyped": {"!!str", "!!int", "!!float", "!!bool"},
		}
		if v.Kind != yaml.ScalarNode || !slices.Contains(tags[want.Scalar], v.ShortTag()) {
			return []string{fmt.Sprintf("%s: %q is no %s", at, v.Value, want.Scalar)}
		}
	case want.List != nil:
		if v.Kind != yaml.SequenceNode {
			return []string{at + ": is no list"}
		}
		var faults []string
		for i, e := range v.Content {
			faults = append(faults, a.check(fmt.Sprintf("%s[%d]", at, i), e, &want.List.Element)...)
		}
		return faults
	case want.Map != nil:
		return a.checkMap(at, v, want.Map)
	}
	return nil
}

func (a api) checkMap(at string, v *yaml.Node, want *apiMap) []string {
	if v.Kind != yaml.MappingNode {
		return []string{at + ": is no map"}
	}
	var faults []string
	for i := 0; i < len(v.Content); i += 2 {
		name := v.Content[i].Value
		of := want.Element
		for j := range want.Fields {
			if want.Fields[j].Name == name {
				of = &want.Fields[j].Type
			}
		}
		if of == nil {
			faults = append(faults, at+": has no field "+name)
			continue
		}
		faults = append(faults, a.check(at+"."+name, v.Content[i+1], of)...)
	}
	return faults
}

// TestKubernetesAPI checks every field of the manifest against the published schema.
func TestKubernetesAPI(t *testing.T) {
	schema := kubernetesAPI(t)
	faults := func(text []byte) []string {
		var all []string
		for _, doc := range manifests(t, text) {
			var of struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
			}
			if err := doc.Decode(&of); err != nil {
				t.Fatal(err)
			}
			version := strings.ReplaceAll(of.APIVersion, "/", ".")
			if version == "v1" {
				version = "core.v1"
			}
			all = append(all, schema.check(of.Kind, doc, &apiType{NamedType: "io.k8s.api." + version + "." + of.Kind})...)
		}
		return all
	}
	text := readFile(t, manifest)
	for _, f := range faults(text) {
		t.Error(f)
	}
	for _, broken := range [][2]string{
		{"completionMode:", "completionsMode:"},
		{"completions: 4", "completions: four"},
		{"drop: [ALL]", "drop: ALL"},
		{"runAsNonRoot: true", "runAsNonRoot: 1"},
		{"apiVersion: batch/v1", "apiVersion: batch/v9"},
		{"secretRef: {name:", "secretRef: {named:"},
	} {
		if got := faults(bytes.Replace(text, []byte(broken[0]), []byte(broken[1]), 1)); len(got) == 0 {
			t.Errorf("%s passes", broken[1])
		}
	}
}
