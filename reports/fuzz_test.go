package reports

import (
	"io"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// Every file that can be read can be shown, whatever it says.
func FuzzReports(f *testing.F) {
	var text strings.Builder
	if err := results.WriteJSON(&text, sample()); err != nil {
		f.Fatal(err)
	}
	good := text.String()
	f.Add(good)
	f.Add(`{"format": "mailbench.run/2"}`)
	f.Add(`{"format": "mailbench.run/2", "cells": [{}, {"verdict": "ok", "kind": "measure", "ops": {"": {}}, "timeline": [{}], "longest_gap": {"seconds": 9}}]}`)
	for _, change := range [][2]string{
		{`"timeline":[`, `"timeline":null,"was":[`},
		{`"ok":500`, `"ok":-500`},
		{`"at":11,`, `"at":1e300,`},
		{`"seconds":1,`, `"seconds":0,`},
		{`"engine_info":`, `"was":`},
		{`"client":`, `"was":`},
		{`"count":15000`, `"count":1000000000000`},
		{`"p99":`, `"p99":-9223372036854775808,"was":`},
		{`"max":`, `"max":9223372036854775807,"was":`},
		{`"reason":`, `"was":`},
	} {
		if !strings.Contains(good, change[0]) {
			f.Errorf("the sample has no %s", change[0])
		}
		f.Add(strings.ReplaceAll(good, change[0], change[1]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := results.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, err := range []error{writeText(io.Discard, r, 60), writeText(io.Discard, r, 120), WriteBench(io.Discard, r)} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}
