package lists

import (
	"cmp"
	"slices"
	"strings"
)

// column is what a list can be sorted by: a number or a text of a row.
type column[R any] struct {
	number func(*R) int64
	text   func(*R) string
}

func byNumber[R any](f func(*R) int64) column[R] { return column[R]{number: f} }

func byText[R any](f func(*R) string) column[R] { return column[R]{text: f} }

func (c column[R]) key(r *R) key {
	if c.number != nil {
		return key{n: c.number(r)}
	}
	s := c.text(r)
	return key{s: s[:min(len(s), maxKey)]}
}

// rows describes the rows of a list.
type rows[R any] struct {
	columns map[string]column[R]
	tie     func(a, b *R) int // the same for equal rows only
	id      func(*R) string
	at      func(id string) (R, error) // a row with nothing but an id
}

// kept is a row that may be on the page.
type kept[R any] struct {
	key key
	row R
}

// picker collects the rows of one page. Add all rows that match.
type picker[R any] struct {
	rows[R]
	q       query
	column  column[R]
	edge    *kept[R]  // where the cursor is
	heap    []kept[R] // the last one of the page first
	matched int
	now     kept[R] // the row that is added
	before  int     // rows before the cursor, and that at the cursor of a page that begins after it
}

func (x rows[R]) pick(q query) (*picker[R], error) {
	p := &picker[R]{rows: x, q: q, column: x.columns[q.column]}
	if q.cursor != nil {
		r, err := x.at(q.cursor.id)
		if err != nil {
			return nil, wrongCursor(q.cursor.String(), err)
		}
		p.edge = &kept[R]{q.cursor.at, r}
	}
	return p, nil
}

// compare compares rows in the list's order.
func (p *picker[R]) compare(a, b *kept[R]) int {
	c := cmp.Or(cmp.Compare(a.key.n, b.key.n), strings.Compare(a.key.s, b.key.s))
	if c == 0 {
		c = p.tie(&a.row, &b.row)
	}
	if p.q.descending {
		return -c
	}
	return c
}

func (p *picker[R]) backward() bool { return p.q.cursor != nil && p.q.cursor.backward }

// nearer compares rows by how near they are to the cursor, in the direction of the page.
func (p *picker[R]) nearer(a, b *kept[R]) int {
	if p.backward() {
		return p.compare(b, a)
	}
	return p.compare(a, b)
}

// add adds a row, which the caller may change afterwards.
func (p *picker[R]) add(r *R) {
	p.matched++
	k := &p.now // not a variable of this function, which would be allocated for each row
	k.key, k.row = p.column.key(r), *r
	if p.edge != nil {
		c := p.compare(k, p.edge)
		if c < 0 || c == 0 && !p.backward() {
			p.before++
		}
		if p.backward() && c >= 0 || !p.backward() && c <= 0 {
			return
		}
	}
	switch {
	case len(p.heap) < p.q.limit:
		p.heap = append(p.heap, *k)
		p.up(len(p.heap) - 1)
	case p.nearer(k, &p.heap[0]) < 0:
		p.heap[0] = *k
		p.down()
	}
}

func (p *picker[R]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if p.nearer(&p.heap[i], &p.heap[parent]) <= 0 {
			return
		}
		p.heap[i], p.heap[parent] = p.heap[parent], p.heap[i]
		i = parent
	}
}

func (p *picker[R]) down() {
	for i := 0; ; {
		far := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(p.heap) && p.nearer(&p.heap[child], &p.heap[far]) > 0 {
				far = child
			}
		}
		if far == i {
			return
		}
		p.heap[i], p.heap[far] = p.heap[far], p.heap[i]
		i = far
	}
}

// page is a part of a list.
type page[R any] struct {
	rows       []R
	matched    int    // rows of the list
	before     int    // rows of the list before this page
	next, prev string // cursors; "": there is no such page
}

func (p *picker[R]) page() page[R] {
	slices.SortFunc(p.heap, func(a, b kept[R]) int { return p.compare(&a, &b) })
	out := page[R]{matched: p.matched, before: p.before, rows: make([]R, 0, len(p.heap))}
	for i := range p.heap {
		out.rows = append(out.rows, p.heap[i].row)
	}
	if p.backward() {
		out.before -= len(p.heap)
	}
	if len(p.heap) == 0 {
		if p.before > 0 { // what followed is gone
			out.prev = p.cursor(p.edge, true)
		}
		return out
	}
	if out.before > 0 {
		out.prev = p.cursor(&p.heap[0], true)
	}
	if out.before+len(p.heap) < p.matched {
		out.next = p.cursor(&p.heap[len(p.heap)-1], false)
	}
	return out
}

func (p *picker[R]) cursor(k *kept[R], backward bool) string {
	return cursor{p.q.sort, backward, k.key, p.id(&k.row)}.String()
}
