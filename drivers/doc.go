// Package drivers is the interface between mail logic and engines: a Store
// compiles the access patterns of a schema to an engine's own prepared calls,
// a Session runs them for one worker. Engines live in sub-packages and never
// import a model.
//
// A driver runs a pattern as an expert of its engine would, or returns
// ErrUnsupported. Then the fallback that the schema declares runs in its place, and
// the result says "emulated". No driver emulates in silence.
package drivers
