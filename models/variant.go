package models

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
)

// Variant returns the model on a variant of its schema ("variant of" in package schemas). The
// code is the same: a variant has all patterns that the model runs. Name and doc are those of
// the variant.
func (m Model) Variant(schema func() (*schemas.Schema, error)) (Model, error) {
	s, err := schema()
	if err != nil {
		return m, err
	}
	if schemas.BaseOf(s.Name) != m.Name {
		return m, fmt.Errorf("schema %s is no variant of model %s", s.Name, m.Name)
	}
	m.Name, m.Doc, m.Schema = s.Name, s.Doc, schema
	return m, nil
}

// Variants returns the model's variants that mailbench brings along, in alphabetical
// order of their names.
func (m Model) Variants() ([]Model, error) {
	var all []Model
	for _, name := range schemas.BundledVariants(m.Name) {
		v, err := m.Variant(func() (*schemas.Schema, error) { return schemas.Bundled(name) })
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
