package drivers

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// JavaOptions returns the heap and the garbage collector of an engine's processes on this machine,
// as settings of results: the words of -Xmx and -XX:+Use…GC in their command lines. What is not
// known of one of them is left out, and what differs between them is a list.
func JavaOptions(pids ...int) map[string]string {
	var heaps, collectors []string
	for _, pid := range pids {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // only Linux has it
		if err != nil {
			return nil
		}
		heap, collector := "", ""
		for word := range bytes.SplitSeq(line, []byte{0}) {
			if of, ok := strings.CutPrefix(string(word), "-Xmx"); ok {
				heap = of
			}
			of, is := strings.CutPrefix(string(word), "-XX:+Use")
			if of, gc := strings.CutSuffix(of, "GC"); is && gc {
				collector = of
			}
		}
		heaps, collectors = append(heaps, heap), append(collectors, collector)
	}
	settings := make(map[string]string)
	for name, values := range map[string][]string{"server_heap": heaps, "server_gc": collectors} {
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 && values[0] != "" {
			settings[name] = strings.Join(values, ", ")
		}
	}
	return settings
}
