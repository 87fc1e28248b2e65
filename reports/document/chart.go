package document

// Chart is a picture of lines, next to the table that has the same values.
type Chart struct {
	Title, Summary string // the summary is for readers who do not see the picture
	X, Y           Axis
	Height         float64 // 0: the usual one
	Lines          []Line
	Marks          []Tick       // places of X that are marked
	Bands          [][2]float64 // shaded parts of X
	Says           []string     // texts below the chart
}

// Axis is an axis of a chart. It begins and ends where its values do, or at From and To if they are set.
// Text writes a value; nil: values are nanoseconds. Ticks are its labels; nil: round values.
type Axis struct {
	Label    string
	Scale    Scale
	From, To float64
	Text     func(float64) string
	Ticks    []Tick
}

// Scale says how an axis is divided. A linear one begins at 0. Log has a power of ten at each step, and
// Nines one more nine of a percentile: 0, 90, 99, 99.9.
type Scale int

// Scales.
const (
	Linear Scale = iota
	Log
	Nines
)

// Tick is a label of an axis.
type Tick struct {
	At    float64
	Label string
}

// Line is a line of a chart. Lines of one name have one color on a page.
type Line struct {
	Name   string
	Points []Point
}

// Point is a point of a line, which is interrupted where Y is NaN. A point with a text has a dot; it is
// open if the value is not one of those that the line is about, such as a rate that failed. Y may be off by Error.
type Point struct {
	X, Y, Error float64
	Text        string
	Open        bool
}
