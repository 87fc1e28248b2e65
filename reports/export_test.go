package reports

// ChangesReading is for tests that know package judge.
var ChangesReading = changesReading
