package cmd

import (
	"regexp"
	"strings"
)

// sweepPath and sweepValue are what --sweep may have before and after its equals sign.
var sweepPath, sweepValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`), regexp.MustCompile(`^[A-Za-zµ0-9_./+-]+$`)

// sweepOverride is the override that --sweep means; none: no override.
func sweepOverride(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	path, list, _ := strings.Cut(text, "=")
	values := strings.Split(list, ",")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
		if !sweepPath.MatchString(path) || !sweepValue.MatchString(values[i]) {
			return nil, usagef("--sweep %q: expected KEY=VALUE,VALUE,…, such as population.messages=100,1000,10000", text)
		}
	}
	return []string{"sweep={" + path + ": [" + strings.Join(values, ", ") + "]}"}, nil
}
