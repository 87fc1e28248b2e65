// Package trials puts the trials of a model on an engine together: the outcomes of an operation
// in all of them, the medians of its figures, how sure a figure is, and how it grows over a
// sweep. Views and the runner use it; it writes nothing.
package trials
