package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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
	lastNames = [...]string{
		"Abe", "Becker", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Hassan",
		"Ivanov", "Jensen", "Kaplan", "Lopez", "Moreau", "Nakamura", "Okafor", "Petrov",
		"Quinn", "Rossi", "Singh", "Tanaka", "Usman", "Varga", "Walker", "Xu",
		"Young", "Zhang", "Archer", "Brandt", "Clarke", "Duarte", "Egede", "Fox",
	}
	// firstLocal and lastLocal are the same names as in an address.
	firstLocal, lastLocal = local(firstNames), local(lastNames)
)

// local writes names in lower case and ASCII.
func local(names [32]string) [32]string {
	ascii := strings.NewReplacer("é", "e", "ë", "e", "ö", "oe")
	for i, name := range names {
		names[i] = ascii.Replace(strings.ToLower(name))
	}
	return names
}

// Domain is the domain of all mail addresses; it can never exist (RFC 2606).
const Domain = "mailbench.example"

// Names is how many display names there are: person n has the name n % Names.
const Names = len(firstNames) * len(lastNames)

// Name returns a display name, UTF-8.
func Name(n int) string {
	return firstNames[n%len(firstNames)] + " " + lastNames[n/len(firstNames)%len(lastNames)]
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
	Shared   bool // all users have one folder in common, which is stored as user 0's
	seed     uint64
	first    []int32 // index in counts of each user's first folder; len(counts) at the end
	counts   []int32 // messages of each folder
	folders  int
	messages int
	all      int // messages of all segments
	Segment      // folders and messages count only this segment's
}

// NewCensus draws the workload's population. Folder f of user u is drawn from (seed, u, f), so further users do not
// change the others. The error is that of ctx or wraps ErrPopulation.
func NewCensus(ctx context.Context, w *workloads.Workload) (*Census, error) {
	p := &w.Population
	c := &Census{seed: w.Seed, Shared: p.Shared, first: make([]int32, 1, p.Users+1)}
	var r random.Rand
	for u := range p.Users {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		folders := 1
		if !p.Shared {
			r.Seed(w.Seed, streamUser, uint64(u))
			folders = int(min(max(1, p.Folders.Draw(&r)), workloads.MaxFolders))
		} else if u > 0 {
			folders = 0
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

// Bytes returns about how many bytes of memory a run needs for the population. Measured over the null engine: 327 MB
// for 100,000 accounts with 500,000 folders of two messages.
func (c *Census) Bytes() int64 { return int64(c.Folders())*600 + int64(c.Messages())*33 }

// Users returns how many users there are: 0 to Users()-1.
func (c *Census) Users() int { return len(c.first) - 1 }

// FolderCount returns how many folders the user has.
func (c *Census) FolderCount(user int) int {
	if c.Shared {
		return 1
	}
	return int(c.first[user+1] - c.first[user])
}

// FolderMessages returns how many messages the load puts into a folder.
func (c *Census) FolderMessages(user, folder int) int {
	if c.Shared {
		user = 0
	}
	return int(c.counts[int(c.first[user])+folder])
}

// Folders returns how many folders there are in all, or in the segment.
func (c *Census) Folders() int { return c.folders }

// Messages returns how many messages the load, or the segment's part of it, delivers.
func (c *Census) Messages() int { return c.messages }

// Hottest returns the shares of operations that go to the busiest user and to the busiest
// folder, by the first operations of the last measured phase. A delivery goes to each of its
// recipients. Both are 0 if no phase is measured or its trace is not read.
func Hottest(w *workloads.Workload, c *Census) (user, folder float64) {
	i := len(w.Phases) - 1
	for i >= 0 && w.Phases[i].Kind != workloads.Measure {
		i--
	}
	if i < 0 || w.Phases[i].Replay != nil && w.Phases[i].Replay.Source == nil {
		return 0, 0
	}
	last := w.Phases[i]
	last.Duration, last.Operations = 0, 0    // it may be too short
	all, counts := 0.0, map[[2]int]float64{} // by user and folder; folder -1 is all of the user's
	count := func(user, folder int, most *float64) {
		at := [2]int{user, folder}
		counts[at]++
		*most = max(*most, counts[at])
	}
	// So many operations show a share of 1% within a tenth of itself.
	for o := range first(StreamOf(w, &last, c), &last, 20_000) {
		to := []int{o.User}
		if o.Op == workloads.Deliver {
			to = o.Recipients
		}
		for _, u := range to {
			all++
			count(u, -1, &user)
			if c.Shared {
				u = 0
			}
			if !o.Op.OfAccount() {
				count(u, o.Folder, &folder)
			}
		}
	}
	return user / max(1, all), folder / max(1, all)
}

// Segment is the part of a run that one load generator executes: the operations of every
// Of-th user. The zero value is the whole run.
//
// Every segment draws the operations of the whole run, and executes those of its own users, at the times that they have
// in the whole run. So the operations of all segments are those of one generator, none of them twice, and their rates
// add up to the workload's. Only the further recipients of a delivery differ: they are users of the same segment. No
// segment touches another's users.
type Segment struct {
	Index int `json:"segment,omitempty"` // from 1
	Of    int `json:"of,omitempty"`
}

// ParseSegment reads I/N, part I of N. The part job/N has the number of a pod in a Kubernetes Indexed Job: Kubernetes
// puts that number, from 0, into the environment variable jobVariable.
func ParseSegment(text string) (s Segment, err error) {
	const mostSegments, jobVariable = 1000, "JOB_COMPLETION_INDEX"
	index, of, _ := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if index == "job" {
		i, errI = strconv.Atoi(os.Getenv(jobVariable))
		i++
	}
	if errI != nil || errN != nil || i < 1 || i > n || n > mostSegments {
		return s, fmt.Errorf("%s: expected I/N, from 1/N to N/N, with N up to %d; job/N takes I from %s, which is %q",
			text, mostSegments, jobVariable, os.Getenv(jobVariable))
	}
	return Segment{Index: i, Of: n}, nil
}

// Divides reports whether there are several segments.
func (s Segment) Divides() bool { return s.Of > 1 }

// Has reports whether the user is one of the segment's.
func (s Segment) Has(user int) bool { return s.Of <= 1 || user%s.Of == s.Index-1 }

// FirstUser returns the first user of the segment.
func (s Segment) FirstUser() int { return max(0, s.Index-1) }

// Check refuses a workload that cannot be divided among so many segments.
func (s Segment) Check(w *workloads.Workload) error {
	switch {
	case !s.Divides():
		return nil
	case w.Population.Shared:
		return errors.New("all users of the workload share one folder (population.shared), which cannot be divided; " +
			"leave --segment out")
	case w.Population.Users < s.Of:
		return fmt.Errorf("the workload has %d users for %d segments; use fewer segments, or set population.users",
			w.Population.Users, s.Of)
	}
	for _, p := range w.Phases {
		if p.Runs() && p.Arrivals == workloads.Closed {
			return fmt.Errorf("phase %s has clients, which cannot be divided; give it a rate, or leave --segment out", p.Name)
		}
	}
	return nil
}

// OfSegment returns the census of a segment. It has the users and folders of all segments, but
// counts only the folders and messages of its own users.
func (c *Census) OfSegment(s Segment) *Census {
	if !s.Divides() {
		return c
	}
	own := *c
	own.Segment, own.messages, own.folders = s, 0, 0
	for u := s.FirstUser(); u < c.Users(); u += s.Of {
		for _, n := range c.counts[c.first[u]:c.first[u+1]] {
			own.messages += int(n)
			own.folders++
		}
	}
	return &own
}

// own returns those operations of a stream that belong to the segment's users.
func (c *Census) own(all Stream) Stream {
	if !c.Divides() {
		return all
	}
	return &ownStream{all, c}
}

// ownStream is the operations of one segment.
type ownStream struct {
	Stream
	*Census
}

// Next implements Stream.
func (s *ownStream) Next(now time.Duration, o *Operation) (due time.Duration, ok bool) {
	due, ok = s.Stream.Next(now, o)
	for ok && !s.Has(o.User) {
		due, ok = s.Stream.Next(now, o)
	}
	if !ok {
		return 0, false
	}
	// Recipients of other segments are replaced by users of this one that are close by number. If such a user is a
	// recipient already, the next one of the segment follows. If all are, there is one recipient less.
	drawn := o.Recipients
	o.Recipients = o.Recipients[:min(1, len(drawn))]
	for i := 1; i < len(drawn); i++ {
		u := drawn[i] - drawn[i]%s.Of + s.FirstUser()
		for range s.Users()/s.Of + 1 {
			if u >= s.Users() {
				u = s.FirstUser()
			}
			if !slices.Contains(o.Recipients, u) {
				o.Recipients = append(o.Recipients, u)
				break
			}
			u += s.Of
		}
	}
	return due, true
}
