package latency_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/latency"
)

const (
	listTag = "james/embedded/measure/1/1/list/response"
	openTag = "james/embedded/measure/1/1/open/service"
)

// values are those of a tag's lines in an interval: 1, 2 … n times a unit.
func values(n int, unit time.Duration) *latency.Histogram {
	h := latency.NewHistogram(3)
	for i := 1; i <= n; i++ {
		h.Record(time.Duration(i)*unit, 1)
	}
	return h
}

// twoTags is a log of two intervals: 1,500 lists of up to 1 s, and 10 opens.
func twoTags(t *testing.T) []byte {
	t.Helper()
	start := time.UnixMilli(1_700_000_000_000)
	var b bytes.Buffer
	l, err := latency.NewLog(&b, start)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range []*latency.Histogram{values(1000, time.Millisecond), values(500, time.Millisecond)} {
		from := start.Add(time.Duration(i) * time.Second)
		l.WriteOne(listTag, h, from, from.Add(time.Second))
	}
	l.WriteOne(openTag, values(10, 100*time.Millisecond), start, start.Add(time.Second))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Histograms are encoded as V2, compressed, and the log is of version 1.3.
func TestLogIsV2(t *testing.T) {
	log := twoTags(t)
	if !bytes.Contains(log, []byte("#[Histogram log format version 1.3]")) {
		t.Errorf("no version 1.3:\n%s", log)
	}
	lines := regexp.MustCompile(`(?m)^Tag=.*,(\S+)$`).FindAllSubmatch(log, -1)
	if len(lines) != 3 {
		t.Fatalf("%d lines of histograms, want 3:\n%s", len(lines), log)
	}
	const v2 = 0x1c849304 | 0x10 // V2CompressedEncodingCookieBase of HdrHistogram
	for _, line := range lines {
		b, err := base64.StdEncoding.DecodeString(string(line[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint32(b); got != v2 {
			t.Errorf("a histogram begins with %#x, want %#x", got, v2)
		}
	}
}

// The jar of HdrHistogram's own log processor.
const (
	hdrJar    = "HdrHistogram-2.2.2.jar"
	hdrDigest = "22d1d4316c4ec13a68b559e98c8256d69071593731da96136640f864fa14fad8"
)

// TestJavaReadsLog reads the log as docs/results.md says, with HdrHistogram's own log
// processor.
func TestJavaReadsLog(t *testing.T) {
	if err := live.MayStart(t.Context(), "cassandra"); err != nil {
		if live.Required() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	jar, log := fetchProcessor(t), filepath.Join(t.TempDir(), "latency.hlog")
	if err := os.WriteFile(log, twoTags(t), 0o600); err != nil {
		t.Fatal(err)
	}
	process := func(args ...string) string {
		args = append([]string{"-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", log}, args...)
		out, err := exec.CommandContext(t.Context(), "java", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("java %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if tags := process("-listtags"); !strings.Contains(tags, listTag) || !strings.Contains(tags, openTag) {
		t.Errorf("-listtags does not list the tags:\n%s", tags)
	}
	// 1,500 values in milliseconds, of which 1,000 are beyond 250 and 2 in 3 of the rest twice.
	out := process("-tag", listTag, "-outputValueUnitRatio", "1000000")
	for name, want := range map[string]float64{"Total count": 1500, "Max": 1000, "Mean": (1000*500.5 + 500*250.5) / 1500} {
		found := regexp.MustCompile(regexp.QuoteMeta(name) + `\s*=\s*([0-9.]+)`).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("no %s in\n%s", name, out)
		}
		if got, _ := strconv.ParseFloat(found[1], 64); math.Abs(got/want-1) > 0.001 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// percentilesJava prints what Java's HdrHistogram makes of the percentiles of each tag of a log:
// tag, percentile, nanoseconds.
const percentilesJava = `
import java.util.*;
import org.HdrHistogram.*;

public class Percentiles {
  public static void main(String[] args) throws Exception {
    HistogramLogReader log = new HistogramLogReader(args[0]);
    for (EncodableHistogram h; (h = log.nextIntervalHistogram()) != null; )
      for (String p : Arrays.copyOfRange(args, 1, args.length))
        System.out.println(h.getTag() + " " + p + " " + ((Histogram) h).getValueAtPercentile(Double.parseDouble(p)));
  }
}
`

// TestJavaAgreesOnPercentiles: every percentile that is printed is the one of Java's reader, for any
// number of values.
func TestJavaAgreesOnPercentiles(t *testing.T) {
	if err := live.MayStart(t.Context(), "cassandra"); err != nil {
		if live.Required() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var b bytes.Buffer
	start := time.UnixMilli(1_700_000_000_000)
	l, err := latency.NewLog(&b, start)
	if err != nil {
		t.Fatal(err)
	}
	percents := []string{"50", "90", "95", "99", "99.9", "100"}
	want := map[string]int64{}
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 4000; n += 1 + n/7 {
		h := latency.NewHistogram(3)
		for range n {
			h.Record(time.Duration(1000*math.Exp(8*r.Float64())), 1)
		}
		tag := fmt.Sprintf("n=%d", n)
		l.WriteOne(tag, h, start, start.Add(time.Second))
		for _, p := range percents {
			v, _ := strconv.ParseFloat(p, 64)
			want[tag+" "+p] = h.At(v, 0)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, log := filepath.Join(dir, "Percentiles.java"), filepath.Join(dir, "latency.hlog")
	for name, text := range map[string][]byte{source: []byte(percentilesJava), log: b.Bytes()} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"-cp", fetchProcessor(t), source, log}, percents...)
	out, err := exec.CommandContext(t.Context(), "java", args...).Output()
	if err != nil {
		t.Fatalf("java %s: %v", strings.Join(args, " "), err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines of Java, want %d", len(lines), len(want))
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line[strings.Index(line, "n="):], " ")
		percent, value, _ := strings.Cut(value, " ")
		if got := want[name+" "+percent]; strconv.FormatInt(got, 10) != value {
			t.Errorf("%s: p%s is %d, of Java %s", name, percent, got, value)
		}
	}
	t.Logf("%d percentiles agree", len(want))
}

// fetchProcessor has Maven fetch the processor, and checks that it is the known one.
func fetchProcessor(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".mvn"), 0o700); err != nil { // else one above it may give options
		t.Fatal(err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(hdrJar, "HdrHistogram-"), ".jar")
	cmd := exec.CommandContext(t.Context(), "mvn", "-B", "-C", "-q", "-ntp", "-Dstyle.color=never",
		"dependency:copy", "-Dartifact=org.hdrhistogram:HdrHistogram:"+version, "-DoutputDirectory="+dir)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mvn could not fetch %s (%v):\n%s", hdrJar, err, out)
	}
	jar := filepath.Join(dir, hdrJar)
	b, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != hdrDigest {
		t.Fatalf("%s has the SHA-256 %s, want %s", hdrJar, got, hdrDigest)
	}
	return jar
}
