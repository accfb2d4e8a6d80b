package leaf

// Table has what a policy notes about applications or containers, by their handles. A policy sees the handles of its own leaf only, which may
// be few of many, so that a slice by handle would waste memory. Handles are the same in each run, and so is the order of All.
// The zero value is ready. It allocates nothing unless it grows.
type Table[K ~int32, V any] struct {
	at   index
	rows []row[K, V]
	free []int32
}

type row[K ~int32, V any] struct {
	key   K
	taken bool
	value V
}

// Get returns what is noted, nil if nothing is. It is good until the next Put.
func (t *Table[K, V]) Get(k K) *V {
	if i := t.at.find(int32(k)); i >= 0 {
		return &t.rows[i].value
	}
	return nil
}

// Put notes something, in the place of what was noted, and returns it.
func (t *Table[K, V]) Put(k K, v V) *V {
	i := t.at.find(int32(k))
	if i < 0 {
		if n := len(t.free); n > 0 {
			i, t.free = t.free[n-1], t.free[:n-1]
		} else {
			i, t.rows = int32(len(t.rows)), append(t.rows, row[K, V]{})
		}
		t.at.put(int32(k), i)
	}
	t.rows[i] = row[K, V]{k, true, v}
	return &t.rows[i].value
}

// Delete forgets what is noted.
func (t *Table[K, V]) Delete(k K) {
	if i := t.at.remove(int32(k)); i >= 0 {
		t.rows[i] = row[K, V]{}
		t.free = append(t.free, i)
	}
}

// All goes through everything. Delete may be called meanwhile, Put may not.
func (t *Table[K, V]) All(yield func(K, *V) bool) {
	for i := range t.rows {
		if r := &t.rows[i]; r.taken && !yield(r.key, &r.value) {
			return
		}
	}
}
