// Package words writes numbers and texts as people read them, everywhere in mailbench in the same
// way: durations, sizes and counts with three digits, nouns in the plural, lines of some width,
// tables, and texts from elsewhere as one line without deceptive characters. It imports nothing,
// since all folders write with it.
package words
