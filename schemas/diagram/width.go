package diagram

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// font is one way of writing.
type font struct {
	class string // its class in the style sheet
	size  int    // px
	mono  bool
	wide  *[95]int // width of ' ' to '~' in thousandths of the size
}

var (
	titleFont = font{"title", 18, false, &boldWidths}
	labelFont = font{"label", 12, false, &boldWidths}
	wordFont  = font{"word", 12, false, &widths}
	nameFont  = font{"name", 13, true, nil}
	codeFont  = font{"code", 12, true, nil}
	headFont  = font{"head1", 13, true, nil}
	pillFont  = font{"pilltext", 12, false, &boldWidths}
)

// monoWidth is the width of a character in the widest of the fonts that the style sheet
// names for code, DejaVu Sans Mono and Menlo, in thousandths of the size.
const monoWidth = 603

// otherWidth is that of the widest characters outside ASCII in common fonts, in thousandths
// of the size: most are an em wide, an emoji 1.4 em.
const otherWidth = 1400

// widths and boldWidths are those of DejaVu Sans 2.37, rounded up. It is the
// widest of the fonts that the style sheet names, so text in another one fits too.
var widths = [95]int{
	318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337,
	637, 637, 637, 637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531,
	1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 295, 656, 558, 863, 749, 788,
	604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838, 500,
	500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612,
	635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
}

var boldWidths = [95]int{
	349, 457, 521, 838, 696, 1002, 873, 307, 458, 458, 523, 838, 380, 416, 380, 366,
	696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 581,
	1000, 774, 763, 734, 831, 684, 684, 821, 837, 373, 373, 775, 638, 996, 837, 851,
	733, 851, 771, 721, 683, 813, 774, 1104, 771, 725, 726, 458, 366, 458, 838, 500,
	500, 675, 716, 593, 716, 679, 436, 716, 712, 343, 343, 666, 343, 1042, 712, 688,
	716, 716, 494, 596, 479, 712, 652, 924, 646, 652, 583, 712, 366, 712, 838,
}

// width returns the width of a text in px, rounded up.
func (f font) width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case f.mono && (r <= '~' || r == '↑' || r == '↓' || r == '→' || r == '…' || r == '†'):
			n += monoWidth
		case r < ' ' || r > '~':
			n += otherWidth
		case f.wide != nil:
			n += f.wide[r-' ']
		}
	}
	return (n*f.size + 999) / 1000
}

// wrap breaks a text into lines that fit into room px, at spaces where there are any.
func (f font) wrap(s string, room int) []string {
	var ls []string
	now := ""
	for _, word := range strings.Fields(plain(s)) {
		switch {
		case now == "":
			now = word
		case f.width(now+" "+word) <= room:
			now += " " + word
			continue
		default:
			ls, now = append(ls, now), word
		}
		for f.width(now) > room {
			head := f.head(now, room)
			ls, now = append(ls, now[:head]), now[head:]
		}
	}
	if now != "" {
		ls = append(ls, now)
	}
	return ls
}

// head returns how many bytes of a word fit into room px, one character at least.
func (f font) head(word string, room int) int {
	end := 0
	for i, r := range word {
		next := i + utf8.RuneLen(r)
		if end > 0 && f.width(word[:next]) > room {
			break
		}
		end = next
	}
	return end
}

// plain takes control characters and others that do not print out of a text: they have
// no width, or reverse the direction of writing. Every kind of space becomes ' '.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.C) || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}
