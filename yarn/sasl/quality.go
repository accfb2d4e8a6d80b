package sasl

import (
	"fmt"
	"slices"
	"strings"
)

// Quality is a quality of protection of the data that follows an exchange. Its values are the bits of RFC 4752 §3.1 and RFC 2831.
type Quality byte

// The qualities.
const (
	Authentication Quality = 1 // the data travels as it is
	Integrity      Quality = 2 // the data is signed and numbered
	Privacy        Quality = 4 // the data is encrypted too
)

// qualities are the names of Hadoop's configuration and those of DIGEST-MD5.
var qualities = []struct {
	quality   Quality
	name, qop string
}{
	{Authentication, "authentication", qopAuth},
	{Integrity, "integrity", "auth-int"},
	{Privacy, "privacy", "auth-conf"},
}

// String returns Hadoop's name.
func (q Quality) String() string {
	for _, k := range qualities {
		if k.quality == q {
			return k.name
		}
	}
	return fmt.Sprintf("quality %d", byte(q))
}

// qop returns DIGEST-MD5's name.
func (q Quality) qop() string {
	for _, k := range qualities {
		if k.quality == q {
			return k.qop
		}
	}
	return ""
}

func byQOP(name string) (Quality, bool) {
	for _, k := range qualities {
		if k.qop == name {
			return k.quality, true
		}
	}
	return 0, false
}

// Qualities are those that a peer accepts, the preferred one first. None stand for Authentication alone.
type Qualities []Quality

// ParseQualities reads a value of hadoop.rpc.protection: names separated by commas, in order of preference.
func ParseQualities(text string) (q Qualities, err error) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, k := range qualities {
			if strings.EqualFold(k.name, name) {
				found = true
				if !slices.Contains(q, k.quality) {
					q = append(q, k.quality)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is not a quality of protection: use authentication, integrity, privacy, or a list of them", name)
		}
	}
	return q, nil
}

func (q Qualities) orDefault() Qualities {
	if len(q) == 0 {
		return Qualities{Authentication}
	}
	return q
}

// Mask returns the bits of all qualities.
func (q Qualities) Mask() Quality {
	var m Quality
	for _, x := range q.orDefault() {
		m |= x
	}
	return m
}

// Accepts reports whether q has the quality.
func (q Qualities) Accepts(x Quality) bool { return slices.Contains(q.orDefault(), x) }

// Preferred returns the first quality that the peer offers too. offered has a bit for each.
func (q Qualities) Preferred(offered Quality) (Quality, bool) {
	for _, x := range q.orDefault() {
		if offered&x != 0 {
			return x, true
		}
	}
	return 0, false
}

// Protection protects the data of one connection after an exchange that agreed on Integrity or Privacy. The tokens of a direction must arrive
// in the order in which they were made. Wrap and Unwrap may run at the same time, but neither may run twice at a time.
type Protection interface {
	// Wrap appends the token of a message, which may have up to MaxMessage bytes.
	Wrap(to, message []byte) ([]byte, error)
	// Unwrap returns the message of a token. It overwrites the token, and the message may be a part of it. After an error the connection must
	// end.
	Unwrap(token []byte) ([]byte, error)
	// MaxMessage returns the number of bytes whose token the peer's buffer holds.
	MaxMessage() int
}
