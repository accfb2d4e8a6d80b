package localizer

import (
	"errors"
	"strconv"
	"strings"
)

// fanOut is the number of sub-directories of a directory of slots: 0…9 and a…z.
const fanOut = 36

// subdirs spreads the slots of one cache in one local directory over sub-directories. No directory gets more than a
// given number of entries, its 36 sub-directories included. Sub-directories are numbered 0 (the cache itself), 1, 2, …
// and used in that order. A full one that gives up a slot is used again after the others (LocalCacheDirectoryManager).
type subdirs struct {
	limit   int // slots a directory takes
	counts  []int
	vacant  []int // directories below limit, in the order of their use
	pending []bool
}

func newSubdirs(maxFiles int) *subdirs {
	s := &subdirs{limit: maxFiles - fanOut}
	s.grow(0)
	return s
}

// grow adds directory n.
func (s *subdirs) grow(n int) {
	for len(s.counts) <= n {
		s.counts = append(s.counts, 0)
		s.pending = append(s.pending, true)
		s.vacant = append(s.vacant, len(s.counts)-1)
	}
}

// take reserves a place and returns the directory's number.
func (s *subdirs) take() int {
	for len(s.vacant) > 0 {
		n := s.vacant[0]
		if s.counts[n] < s.limit {
			s.add(n)
			return n
		}
		s.drop()
	}
	n := len(s.counts)
	s.grow(n)
	s.add(n)
	return n
}

// add counts a slot that is in directory n.
func (s *subdirs) add(n int) {
	s.grow(n)
	s.counts[n]++
	if len(s.vacant) > 0 && s.vacant[0] == n && s.counts[n] >= s.limit {
		s.drop()
	}
}

func (s *subdirs) drop() {
	s.pending[s.vacant[0]] = false
	s.vacant = s.vacant[1:]
}

// give releases a slot of directory n.
func (s *subdirs) give(n int) {
	s.counts[n]--
	if s.counts[n] < s.limit && !s.pending[n] {
		s.pending[n] = true
		s.vacant = append(s.vacant, n)
	}
}

// subdirPath returns the path of directory n below the cache: "", "0" … "z", "0/0", …. It is the number minus one to
// base 36, a digit a level. The first of several digits is lowered by one, so that none stays unused.
func subdirPath(n int) string {
	if n == 0 {
		return ""
	}
	digits := []byte(strconv.FormatInt(int64(n-1), fanOut))
	if len(digits) > 1 {
		first, _ := strconv.ParseInt(string(digits[:1]), fanOut, 64)
		digits[0] = strconv.FormatInt(first-1, fanOut)[0]
	}
	levels := make([]string, len(digits))
	for i, d := range digits {
		levels[i] = string(rune(d))
	}
	return strings.Join(levels, "/")
}

// subdirNumber returns the inverse of subdirPath.
func subdirNumber(path string) (int, error) {
	if path == "" {
		return 0, nil
	}
	n := 0
	levels := strings.Split(path, "/")
	if len(levels) > 3 {
		return 0, errors.New("sub-directory " + strconv.Quote(path) + " is too deep")
	}
	for i, l := range levels {
		if len(l) != 1 || strings.ToLower(l) != l {
			return 0, errors.New(strconv.Quote(path) + " is not a sub-directory of a cache")
		}
		d, err := strconv.ParseInt(l, fanOut, 64)
		if err != nil {
			return 0, errors.New(strconv.Quote(path) + " is not a sub-directory of a cache")
		}
		if i == 0 && len(levels) > 1 {
			d++
		}
		n = n*fanOut + int(d)
	}
	if subdirPath(n+1) != path {
		return 0, errors.New(strconv.Quote(path) + " is not a sub-directory of a cache")
	}
	return n + 1, nil
}
