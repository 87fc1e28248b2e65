package results

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
)

// Tests of other packages read the sample as a result folder.
func TestSampleFolder(t *testing.T) {
	var run bytes.Buffer
	s, log := sample(), sampleLog(t).Bytes()
	s.LatencyLog = &LogDigest{Bytes: int64(len(log)), SHA256: fmt.Sprintf("%x", sha256.Sum256(log))}
	if err := WriteJSON(&run, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample/"+RunFile, run.Bytes())
	golden(t, "sample/"+LatencyFile, log)
	r, err := Open("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenLog("testdata/sample", r)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
