package plan

import "strconv"

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
