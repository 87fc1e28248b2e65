package reports

// Serious is for tests that know package judge.
var Serious = serious
