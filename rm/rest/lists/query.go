package lists

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Rows of a page, unless the client says otherwise, and at most.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// kind is how the values of a filter are written.
type kind uint8

const (
	words  kind = iota // any of several, repeated or separated by commas
	phrase             // one text
	number             // one number that isn't negative
)

// offer is what a list can be sorted and filtered by.
type offer struct {
	sorts   []string // columns; the first one is the default, with a - in front if the order is descending
	filters map[string]kind
}

// query is what a client wants of a list.
type query struct {
	sort       string // as in the parameter
	column     string
	descending bool
	limit      int
	cursor     *cursor // nil: the first page
	texts      map[string][]string
	numbers    map[string]int64
	queues     map[string]bool // what within has found
}

// others are parameters of every request, which say who makes it.
var others = []string{"user.name", "doas", "delegation", "nextrefreshinterval"}

// parseQuery reads the parameters of a request. Its errors name the parameter, and say what it may be.
func parseQuery(values url.Values, o offer) (q query, err error) {
	q = query{sort: o.sorts[0], limit: defaultLimit, texts: map[string][]string{}, numbers: map[string]int64{}, queues: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list := values[name]
		switch {
		case name == "format", slices.Contains(others, strings.ToLower(name)):
		case name == "sort":
			q.sort = list[0]
		case name == "limit":
			if q.limit, err = strconv.Atoi(list[0]); err != nil || q.limit < 1 || q.limit > maxLimit {
				return q, fmt.Errorf("limit is %.100q: it must be a number from 1 to %d", list[0], maxLimit)
			}
		case name == "cursor":
			c, err := parseCursor(list[0])
			if err != nil {
				return q, wrongCursor(list[0], err)
			}
			q.cursor = &c
		default:
			if err := q.filter(o, name, list); err != nil {
				return q, err
			}
		}
	}
	return q, q.sortBy(o)
}

// sortBy reads by what the list is to be sorted, and sees that the cursor belongs to that order.
func (q *query) sortBy(o offer) error {
	q.column, q.descending = strings.CutPrefix(q.sort, "-")
	known := slices.ContainsFunc(o.sorts, func(s string) bool { return strings.TrimPrefix(s, "-") == q.column })
	if !known {
		all := make([]string, len(o.sorts))
		for i, s := range o.sorts {
			all[i] = strings.TrimPrefix(s, "-")
		}
		slices.Sort(all)
		return fmt.Errorf("sort is %.100q: it must be one of %s, with - in front for the descending order", q.sort, strings.Join(all, ", "))
	}
	if q.cursor != nil && q.cursor.sort != q.sort {
		return wrongCursor(q.cursor.String(), fmt.Errorf("it belongs to sort=%.100q, not to %q", q.cursor.sort, q.sort))
	}
	return nil
}

func (q *query) filter(o offer, name string, list []string) error {
	k, ok := o.filters[name]
	if !ok {
		all := append(slices.Collect(maps.Keys(o.filters)), "sort", "limit", "cursor", "format")
		slices.Sort(all)
		return fmt.Errorf("there is no parameter %.100q: there are %s", name, strings.Join(all, ", "))
	}
	switch k {
	case number:
		n, err := strconv.ParseInt(list[0], 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is %.100q: it must be a number that isn't negative", name, list[0])
		}
		q.numbers[name] = n
	case phrase:
		if list[0] != "" {
			q.texts[name] = list[:1]
		}
	case words:
		for _, v := range list {
			for w := range strings.SplitSeq(v, ",") {
				if w = strings.TrimSpace(w); w != "" {
					q.texts[name] = append(q.texts[name], w)
				}
			}
		}
	}
	return nil
}

// hasValue reports whether a value is among those of a filter. A filter without values admits everything.
func (q *query) hasValue(name, value string) bool {
	list := q.texts[name]
	return len(list) == 0 || slices.Contains(list, value)
}

// hasValueFold is hasValue without regard to case.
func (q *query) hasValueFold(name, value string) bool {
	list := q.texts[name]
	return len(list) == 0 || slices.ContainsFunc(list, func(v string) bool { return strings.EqualFold(v, value) })
}

// within reports whether a queue is one of those in the parameter queue, by its path or its name, or below one.
func (q *query) within(path string) bool {
	list := q.texts["queue"]
	if len(list) == 0 {
		return true
	}
	in, known := q.queues[path]
	if !known {
		in = slices.ContainsFunc(list, func(v string) bool { return strings.Contains("."+path+".", "."+v+".") })
		q.queues[path] = in
	}
	return in
}

// between reports whether a number is within the bounds that two parameters may give.
func (q *query) between(from, to string, n int64) bool {
	least, low := q.numbers[from]
	most, high := q.numbers[to]
	return (!low || n >= least) && (!high || n <= most)
}

// has reports whether one of the texts contains the value of a filter, without regard to case.
func (q *query) has(name string, texts ...string) bool {
	list := q.texts[name]
	return len(list) == 0 || slices.ContainsFunc(texts, func(t string) bool { return containsFold(t, list[0]) })
}

// containsFold reports whether text contains part, without regard to the case of ASCII letters. It allocates nothing.
func containsFold(text, part string) bool {
	for i := 0; i+len(part) <= len(text); i++ {
		j := 0
		for j < len(part) && lower(text[i+j]) == lower(part[j]) {
			j++
		}
		if j == len(part) {
			return true
		}
	}
	return false
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
