package lint

// Numbers are what a workload makes of a schema.
type Numbers struct {
	Workload string
}
