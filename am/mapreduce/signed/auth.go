// Package signed carries calls between the processes of a job: JSON in HTTP posts, signed with the job's key in both directions. A Caller
// calls; Serve answers requests that a Guard accepts, each once and in time. Nothing is encrypted.
package signed

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A job's processes prove to each other with the job's key that they belong to it. A request is signed with all that it says:
// method, host, URI and body; with its time; and with its sender's name and its number among those of the sender, by which it
// is taken once. An answer is signed with the request that it answers. Nothing is encrypted.
const (
	authorization = "Authorization"
	scheme        = "Heddle"
	AnswerHeader  = "X-Heddle-Answer"
)

// maxSkew is how far clocks may differ (Kerberos: clockskew).
const maxSkew = 5 * time.Minute

// maxRequest and maxAnswer bound the bodies of messages, in bytes.
const (
	maxRequest = 16 << 20
	maxAnswer  = 64 << 20
)

// Signer signs requests of one process. It may be used by several goroutines.
type Signer struct {
	key    []byte
	sender string

	mu     sync.Mutex
	number uint64
}

func NewSigner(key []byte) *Signer {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	return &Signer{key: key, sender: hex.EncodeToString(id[:])}
}

// Sign signs a request and returns its signature.
func (s *Signer) Sign(r *http.Request, body []byte) string {
	s.mu.Lock()
	s.number++
	n := s.number
	s.mu.Unlock()
	sum := sha256.Sum256(body)
	claim := claim{s.sender, n, time.Now().UnixMilli(), hex.EncodeToString(sum[:])}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	mac := claim.mac(s.key, r.Method, host, r.URL.RequestURI())
	r.Header.Set(authorization, fmt.Sprintf("%s %s %d %d %s %s", scheme, claim.sender, claim.number, claim.time, claim.body, mac))
	return mac
}

// claim has the fields of a request that are signed.
type claim struct {
	sender string
	number uint64
	time   int64  // ms since 1970
	body   string // SHA-256, in hexadecimal
}

func (c claim) mac(key []byte, method, host, uri string) string {
	return mac(key, "request", method, host, uri, c.sender, strconv.FormatUint(c.number, 10),
		strconv.FormatInt(c.time, 10), c.body)
}

// mac signs texts, none of which can pass for a part of another one.
func mac(key []byte, texts ...string) string {
	m := hmac.New(sha256.New, key)
	for _, t := range texts {
		fmt.Fprintf(m, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(m.Sum(nil))
}

func AnswerMAC(key []byte, request string, status int, body []byte) string {
	sum := sha256.Sum256(body)
	return mac(key, "answer", request, strconv.Itoa(status), string(sum[:]))
}

// Guard lets requests through that are signed, timely and new.
type Guard struct {
	key []byte
	now func() time.Time

	mu      sync.Mutex
	senders map[string]*numbers
}

func NewGuard(key []byte) *Guard {
	return &Guard{key: key, now: time.Now, senders: map[string]*numbers{}}
}

var errUnsigned = errors.New("the request is not signed with the job's key")

// Check verifies a request and returns its signature and its body, which isn't read before the rest is known to be good.
func (g *Guard) Check(r *http.Request) (signature string, body []byte, err error) {
	f := strings.Split(r.Header.Get(authorization), " ")
	if len(f) != 6 || f[0] != scheme || len(f[1]) > 64 {
		return "", nil, errUnsigned
	}
	number, err1 := strconv.ParseUint(f[2], 10, 64)
	sent, err2 := strconv.ParseInt(f[3], 10, 64)
	c := claim{f[1], number, sent, f[4]}
	if err1 != nil || err2 != nil || !hmac.Equal([]byte(f[5]), []byte(c.mac(g.key, r.Method, r.Host, r.RequestURI))) {
		return "", nil, errUnsigned
	}
	now := g.now()
	if off := now.Sub(time.UnixMilli(sent)); off.Abs() > maxSkew {
		return "", nil, fmt.Errorf("the request is %v old: the clocks of its sender and of this host must not differ by more than %v", off, maxSkew)
	}
	if !g.first(c, now) {
		return "", nil, errors.New("the request has been here before")
	}
	body, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
	if err != nil {
		return "", nil, err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != c.body {
		return "", nil, errUnsigned
	}
	return f[5], body, nil
}

// manySenders is from how many on those are forgotten whose requests are too old by now in any case.
const manySenders = 1000

func (g *Guard) first(c claim, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.senders[c.sender]
	if n == nil {
		if len(g.senders) >= manySenders {
			for name, old := range g.senders {
				if now.Sub(old.last) > 2*maxSkew {
					delete(g.senders, name)
				}
			}
		}
		n = &numbers{}
		g.senders[c.sender] = n
	}
	n.last = now
	return n.first(c.number)
}

// Protect hands requests on that check lets through.
func (g *Guard) Protect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, body, err := g.Check(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// numbers are those that a sender has used: all up to the highest, but for some of the latest, which may come late.
type numbers struct {
	highest uint64
	late    [16]uint64 // bits of the latest numbers, by number
	last    time.Time
}

const remembered = 64 * uint64(len(numbers{}.late))

// first reports whether a number comes for the first time. One that is far behind the highest counts as used.
func (n *numbers) first(x uint64) bool {
	bit := func(x uint64) (*uint64, uint64) { return &n.late[x/64%uint64(len(n.late))], 1 << (x % 64) }
	switch {
	case x == 0 || x <= n.highest && n.highest-x >= remembered:
		return false
	case x > n.highest:
		if x-n.highest >= remembered {
			n.late = [16]uint64{}
		} else {
			for y := n.highest + 1; y <= x; y++ {
				word, mask := bit(y)
				*word &^= mask
			}
		}
		n.highest = x
	}
	word, mask := bit(x)
	if *word&mask != 0 {
		return false
	}
	*word |= mask
	return true
}
