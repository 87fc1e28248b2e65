// Package compare tells whether a run is slower than another.
//
// It takes two sides of saved runs, BASE and NEW. Cells of the same model, engine and
// phase are put beside each other (pairs.go). Runs that differ in more than the build
// are refused (differ.go). Times and rates are compared by a test over trials (stats.go).
// Counted figures are compared almost exactly (counted.go). Gates say which differences
// matter (gates.go). A Comparison is the result, as text, Markdown or JSON.
//
// The package reads no files, and the same runs give the same comparison.
package compare
