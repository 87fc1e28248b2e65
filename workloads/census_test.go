package workloads

import (
	"testing"
	"time"
)

// TestLoadOrder: every folder gets what the census says, in order of time,
// and users alternate.
func TestLoadOrder(t *testing.T) {
	w := bundledForTest(t, "quick")
	c := w.Census()
	type place struct{ user, folder int }
	counts := map[place]int{}
	firstHalf := map[int]int{}
	last, changes, previous := time.Time{}, 0, -1
	l := c.LoadOrder()
	n := 0
	for {
		a, ok := l.Next()
		if !ok {
			break
		}
		if a.N != uint64(n) || a.Date.Before(last) || a.Date.Before(loadEnd.Add(-loadSpan)) || a.Date.After(loadEnd) {
			t.Fatalf("message %d is %+v after %v", n, a, last)
		}
		if a.User != previous {
			changes++
		}
		if n < c.Messages()/2 {
			firstHalf[a.User]++
		}
		counts[place{a.User, a.Folder}]++
		last, previous = a.Date, a.User
		n++
	}
	if n != c.Messages() {
		t.Errorf("%d messages, want %d", n, c.Messages())
	}
	if changes < n*9/10 {
		t.Errorf("the user changes %d times in %d messages; users are not interleaved", changes, n)
	}
	for u := range c.Users() {
		all := 0
		for f := range c.FolderCount(u) {
			if got, want := counts[place{u, f}], c.FolderMessages(u, f); got != want {
				t.Errorf("folder %d of user %d gets %d messages, want %d", f, u, got, want)
			}
			all += c.FolderMessages(u, f)
		}
		// Half of a user's mail comes in the first half: five standard deviations.
		if d := 2*firstHalf[u] - all; d*d > 25*all {
			t.Errorf("user %d gets %d of %d messages in the first half", u, firstHalf[u], all)
		}
	}
}

// TestMoreUsersChangeNoOthers: users keep their mail when others are added.
func TestMoreUsersChangeNoOthers(t *testing.T) {
	a, b := bundledForTest(t, "workday").Census(), bundledForTest(t, "workday", "population.users=33").Census()
	for u := range a.Users() {
		if a.FolderCount(u) != b.FolderCount(u) || a.FolderMessages(u, 0) != b.FolderMessages(u, 0) {
			t.Fatalf("user %d has %d folders and %d, %d messages and %d", u,
				a.FolderCount(u), b.FolderCount(u), a.FolderMessages(u, 0), b.FolderMessages(u, 0))
		}
	}
}

func TestSharedPopulation(t *testing.T) {
	c := bundledForTest(t, "conversation", "population.users=5", "population.messages=10").Census()
	if !c.Shared() || c.Users() != 5 || c.Folders() != 1 || c.Messages() != 10 || c.FolderCount(4) != 1 || c.FolderMessages(4, 0) != 10 {
		t.Errorf("%+v", c)
	}
	l := c.LoadOrder()
	for n := range 10 {
		if a, ok := l.Next(); !ok || a.User != 0 || a.Folder != 0 {
			t.Errorf("message %d: %+v, %t", n, a, ok)
		}
	}
}

func TestPeople(t *testing.T) {
	seen := map[string]bool{}
	for n := range 5000 {
		a := Address(n)
		if seen[a] {
			t.Fatalf("two people have the address %s", a)
		}
		seen[a] = true
	}
	if got := string(AppendName(nil, 1)) + " " + Address(1) + " " + Address(1025); got != "Björn Abe bjoern.abe@mailbench.example bjoern.abe1@mailbench.example" {
		t.Error(got)
	}
	names := map[string]bool{}
	for f := range maxFolders {
		names[FolderName(f)] = true
	}
	if len(names) != maxFolders || FolderName(0) != "Inbox" {
		t.Errorf("%d names of %d folders, the first %s", len(names), maxFolders, FolderName(0))
	}
}

func BenchmarkLoadOrder(b *testing.B) {
	c := bundledForTest(b, "quick", "population.users=10000").Census()
	l := c.LoadOrder()
	for b.Loop() {
		if _, ok := l.Next(); !ok {
			l = c.LoadOrder()
		}
	}
}
