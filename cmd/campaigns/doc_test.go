// Package campaigns has nothing but tests. They run mailbench as processes of their own, as a user
// would, kill it or the engine under it, and audit what is left. "make campaigns" runs them.
package campaigns
