// Package rules has the page that explains the rules of schema lint.
package rules

import _ "embed"

// Page is README.md: a section for each rule, under the rule's id.
//
//go:embed README.md
var Page string
