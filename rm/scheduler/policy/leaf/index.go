package leaf

// index finds rows by keys. It is a table with linear probing, at most half full: several times as fast as a map, which policies would spend most
// of their time in. The zero value is empty.
type index struct {
	slots []slot // as many as a power of two
	used  int
	shift uint8 // 32 − log2(len(slots))
}

type slot struct{ key, row int32 } // row+1; 0: free

// home returns the slot in which a key belongs (Fibonacci hashing: keys that follow each other lie apart).
func (x *index) home(key int32) uint32 { return uint32(key) * 2654435769 >> x.shift }

// at returns the slot of a key, or the free one where it would be. There are slots.
func (x *index) at(key int32) uint32 {
	mask := uint32(len(x.slots) - 1)
	i := x.home(key)
	for x.slots[i].row != 0 && x.slots[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// find returns the row of a key, −1 if there is none.
func (x *index) find(key int32) int32 {
	if x.used == 0 {
		return -1
	}
	return x.slots[x.at(key)].row - 1
}

// put enters a key that there isn't.
func (x *index) put(key, row int32) {
	if 2*(x.used+1) > len(x.slots) {
		x.grow()
	}
	x.slots[x.at(key)] = slot{key, row + 1}
	x.used++
}

func (x *index) grow() {
	before := x.slots
	n := max(8, 2*len(before))
	x.slots, x.shift = make([]slot, n), 32
	for ; n > 1; n /= 2 {
		x.shift--
	}
	for _, s := range before {
		if s.row != 0 {
			x.slots[x.at(s.key)] = s
		}
	}
}

// remove takes a key out, and returns its row, −1 if there was none. Entries behind it move up, so that no search ends too early.
func (x *index) remove(key int32) int32 {
	if x.used == 0 {
		return -1
	}
	i := x.at(key)
	row := x.slots[i].row - 1
	if row < 0 {
		return -1
	}
	x.used--
	mask := uint32(len(x.slots) - 1)
	for k := (i + 1) & mask; x.slots[k].row != 0; k = (k + 1) & mask {
		if (k-x.home(x.slots[k].key))&mask >= (k-i)&mask { // its home isn't between the gap and it
			x.slots[i], i = x.slots[k], k
		}
	}
	x.slots[i] = slot{}
	return row
}
