// Package modeltest is the contract of a mailbox data model as one suite that
// runs over every model on every engine:
//
//	func TestModels(t *testing.T) {
//		modeltest.Run(t, james.Model(), func(t testing.TB, s *schemas.Schema) drivers.Store { … })
//	}
//
// Most rules drive the model and a plain in-memory mailbox (the reference) side
// by side and compare them after each step: folders, order, pages, numbers,
// flags, and every byte. What the reference cannot tell (damage, heap, races)
// has rules of its own. Each rule runs on tables of its own and ends with an
// audit of them.
package modeltest
