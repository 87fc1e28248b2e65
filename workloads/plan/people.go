package plan

import (
	"context"
	"strconv"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// The names of users and correspondents. Person n is a pure function of n:
// first name, last name, and from the 1,025th on a number.
var (
	firstNames = [...]string{
		"Anna", "Björn", "Chloé", "Dmitri", "Elena", "Farid", "Grace", "Hiro",
		"Ines", "Jonas", "Keiko", "Liam", "Mira", "Noor", "Olga", "Pavel",
		"Quentin", "Rosa", "Sven", "Tara", "Umar", "Vera", "William", "Xenia",
		"Yusuf", "Zoë", "Amir", "Brigid", "Carlos", "Dana", "Emeka", "Frida",
	}
	firstLocal = [...]string{ // firstNames as in an address
		"anna", "bjoern", "chloe", "dmitri", "elena", "farid", "grace", "hiro",
		"ines", "jonas", "keiko", "liam", "mira", "noor", "olga", "pavel",
		"quentin", "rosa", "sven", "tara", "umar", "vera", "william", "xenia",
		"yusuf", "zoe", "amir", "brigid", "carlos", "dana", "emeka", "frida",
	}
	lastNames = [...]string{
		"Abe", "Becker", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Hassan",
		"Ivanov", "Jensen", "Kaplan", "Lopez", "Moreau", "Nakamura", "Okafor", "Petrov",
		"Quinn", "Rossi", "Singh", "Tanaka", "Usman", "Varga", "Walker", "Xu",
		"Young", "Zhang", "Archer", "Brandt", "Clarke", "Duarte", "Egede", "Fox",
	}
	lastLocal = [...]string{
		"abe", "becker", "costa", "dubois", "eriksen", "fischer", "garcia", "hassan",
		"ivanov", "jensen", "kaplan", "lopez", "moreau", "nakamura", "okafor", "petrov",
		"quinn", "rossi", "singh", "tanaka", "usman", "varga", "walker", "xu",
		"young", "zhang", "archer", "brandt", "clarke", "duarte", "egede", "fox",
	}
)

// Domain is the domain of all mail addresses; it can never exist (RFC 2606).
const Domain = "mailbench.example"

// AppendName appends person n's display name, UTF-8.
func AppendName(dst []byte, n int) []byte {
	dst = append(dst, firstNames[n%len(firstNames)]...)
	dst = append(dst, ' ')
	return append(dst, lastNames[n/len(firstNames)%len(lastNames)]...)
}

// AppendAddress appends person n's mail address, which no other person has.
func AppendAddress(dst []byte, n int) []byte {
	dst = append(dst, firstLocal[n%len(firstLocal)]...)
	dst = append(dst, '.')
	dst = append(dst, lastLocal[n/len(firstLocal)%len(lastLocal)]...)
	if round := n / (len(firstLocal) * len(lastLocal)); round > 0 {
		dst = strconv.AppendInt(dst, int64(round), 10)
	}
	dst = append(dst, '@')
	return append(dst, Domain...)
}

// Address returns person n's mail address.
func Address(n int) string { return string(AppendAddress(nil, n)) }

var folderNames = [...]string{
	"Inbox", "Archive", "Sent", "Drafts", "Lists", "Work", "Family", "Receipts", "Travel", "Spam",
}

// FolderName returns the name of a user's folder f; 0 is the inbox.
func FolderName(f int) string {
	if f < len(folderNames) {
		return folderNames[f]
	}
	return "Project " + strconv.Itoa(f-len(folderNames)+1)
}

// Census is the population drawn from the seed: how many folders each user has
// and how many messages lie in each before the first operation.
type Census struct {
	seed     uint64
	shared   bool
	first    []int32 // index in counts of each user's first folder; len(counts) at the end
	counts   []int32 // messages of each folder
	folders  int
	messages int
	all      int   // messages of all shards
	shard    Shard // folders and messages count only this shard's
}

// NewCensus draws the workload's population. Folder f of user u is drawn from
// (seed, u, f), so further users do not change the others. The error is that
// of ctx or wraps ErrPopulation.
func NewCensus(ctx context.Context, w *workloads.Workload) (*Census, error) {
	p := &w.Population
	c := &Census{seed: w.Seed, shared: p.Shared, first: make([]int32, 1, p.Users+1)}
	var r random.Rand
	for u := range p.Users {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		folders := 0
		switch {
		case !p.Shared:
			r.Seed(w.Seed, streamUser, uint64(u))
			folders = int(min(max(1, p.Folders.Draw(&r)), workloads.MaxFolders))
		case u == 0:
			folders = 1
		}
		for f := range folders {
			r.Seed(w.Seed, streamFolder+uint64(f)<<8, uint64(u))
			n := int32(min(p.Messages.Draw(&r), workloads.MaxFolderMessages))
			c.counts = append(c.counts, n)
			c.messages += int(n)
		}
		if err := workloads.CheckPopulation(float64(len(c.counts)), float64(c.messages)); err != nil {
			return nil, err
		}
		c.first = append(c.first, int32(len(c.counts)))
	}
	c.folders, c.all = len(c.counts), c.messages
	return c, nil
}

// Bytes that a run keeps for a folder and for a message, measured over the null engine:
// 327 MB for 100,000 accounts with 500,000 folders of two messages.
const (
	folderBytes  = 600
	messageBytes = 33
)

// Bytes returns about how many bytes of memory a run needs for the population.
func (c *Census) Bytes() int64 {
	return int64(c.Folders())*folderBytes + int64(c.Messages())*messageBytes
}

// Users returns how many users there are: 0 to Users()-1.
func (c *Census) Users() int { return len(c.first) - 1 }

// Shared reports whether all users have one folder in common. It is stored as user 0's.
func (c *Census) Shared() bool { return c.shared }

// FolderCount returns how many folders the user has.
func (c *Census) FolderCount(user int) int {
	if c.shared {
		return 1
	}
	return int(c.first[user+1] - c.first[user])
}

// mostFolders returns how many folders the user with the most of them has.
func (c *Census) mostFolders() int {
	most := 1
	for u := range c.Users() {
		most = max(most, c.FolderCount(u))
	}
	return most
}

// FolderMessages returns how many messages the load puts into a folder.
func (c *Census) FolderMessages(user, folder int) int {
	if c.shared {
		user = 0
	}
	return int(c.counts[int(c.first[user])+folder])
}

// Folders returns how many folders there are in all, or in the shard.
func (c *Census) Folders() int { return c.folders }

// Messages returns how many messages the load, or the shard's part of it, delivers.
func (c *Census) Messages() int { return c.messages }

// hottestSample is how many operations Hottest looks at: enough to know a share of 1% within
// a tenth of itself.
const hottestSample = 20_000

// Hottest returns the shares of operations that go to the busiest user and to the busiest
// folder, by the first operations of the last measured phase. A delivery goes to each of its
// recipients. Both are 0 if no phase is measured or its trace is not read. The error is ctx's.
func Hottest(ctx context.Context, w *workloads.Workload, c *Census) (user, folder float64, err error) {
	var last *workloads.Phase
	for i := range w.Phases {
		if w.Phases[i].Kind == workloads.Measure {
			last = &w.Phases[i]
		}
	}
	if last == nil || c.Users() == 0 {
		return 0, 0, nil
	}
	type place struct{ user, folder int }
	users, folders := make(map[int]int), make(map[place]int)
	if last.Replay != nil && last.Replay.Source == nil {
		return 0, 0, nil // the file has not been read
	}
	endless := *last
	endless.Duration, endless.Operations = 0, 0
	all := 0
	for o := range first(StreamOf(w, &endless, c), last, hottestSample) {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		asked := []int{o.User}
		if o.Op == workloads.Deliver {
			asked = o.Recipients
		}
		for _, u := range asked {
			all++
			users[u]++
			user = max(user, float64(users[u]))
			if o.Op == workloads.Folders || o.Op == workloads.Login || o.Op == workloads.Purge || o.Op == workloads.Recount {
				continue // it works on the account as a whole
			}
			in := place{u, o.Folder}
			if c.Shared() {
				in.user = 0
			}
			folders[in]++
			folder = max(folder, float64(folders[in]))
		}
	}
	if all == 0 {
		return 0, 0, nil
	}
	return user / float64(all), folder / float64(all), nil
}
