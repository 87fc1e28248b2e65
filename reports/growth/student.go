package growth

// normal is the quantile of the normal distribution with 95% between it and its negative.
const normal = 1.959964

// students are these quantiles of Student's distribution, from one degree of freedom on.
var students = [...]float64{
	12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
}

// Student is the quantile for free degrees of freedom, at least 1. Beyond the table it is the
// last one of the table, which is a little larger than the exact one.
func Student(free int) float64 { return students[min(free, len(students))-1] }
