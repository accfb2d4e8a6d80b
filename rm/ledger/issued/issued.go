// Package issued is the part of the ledger that records to which user each application id was issued, until something is submitted under it. It is pure.
package issued

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/rm/ledger/ledgerpb"
)

// Bounds of the issued ids that wait for their submission. A user who holds more loses the oldest ones. When all users together hold more,
// the oldest ones of all are dropped. Clients submit within seconds to minutes.
const (
	MaxOfUser = 5_000
	Max       = 50_000
)

// Grace is how many ids are issued after the version was raised until those that were issued before, without a record of their users,
// are refused.
const Grace = 10_000

// IDs are the numbers of applications that were issued, and under which nothing was submitted yet. The zero value has none.
type IDs struct {
	All []ID               // ascending: ids are issued in this order
	Of  map[string][]int32 // by user, ascending. an element never changes, as frozen states share them
	// Unowned is the highest number that was issued before users were recorded.
	Unowned int32
}

// ID is the number of an application, and the user it was issued to.
type ID struct {
	ID   int32
	User string
}

func (x *IDs) find(id int32) (i int, ok bool) {
	return slices.BinarySearchFunc(x.All, id, func(a ID, id int32) int { return cmp.Compare(a.ID, id) })
}

// Add records an id, which is higher than all others, and drops the oldest ones above the bounds.
func (x *IDs) Add(id int32, user string) {
	if x.Of == nil {
		x.Of = map[string][]int32{}
	}
	x.All = append(x.All, ID{id, user})
	x.Of[user] = append(x.Of[user], id)
	if len(x.Of[user]) > MaxOfUser {
		x.Remove(x.Of[user][0])
	}
	if len(x.All) > Max {
		x.Remove(x.All[0].ID)
	}
}

// Remove drops an id, if it is there.
func (x *IDs) Remove(id int32) {
	i, ok := x.find(id)
	if !ok {
		return
	}
	user := x.All[i].User
	x.All = slices.Delete(x.All, i, i+1)
	if ids := x.Of[user]; len(ids) == 1 {
		delete(x.Of, user)
	} else {
		j, _ := slices.BinarySearch(ids, id)
		x.Of[user] = without(ids, j)
	}
}

// without returns the ids without the one at an index, and leaves those as they are.
func without(ids []int32, i int) []int32 {
	if i == 0 {
		return ids[1:]
	}
	return append(ids[:i:i], ids[i+1:]...)
}

// Clone returns a copy. Both may be changed then.
func (x *IDs) Clone() IDs {
	c := IDs{All: slices.Clone(x.All), Of: maps.Clone(x.Of), Unowned: x.Unowned}
	for user, ids := range c.Of {
		c.Of[user] = slices.Clip(ids) // each appends to its own copy
	}
	return c
}

// Restore reads the ids of a user from a snapshot.
func (x *IDs) Restore(r *ledgerpb.IssuedIds) {
	for _, id := range r.GetIds() {
		x.All = append(x.All, ID{id, r.GetUser()})
	}
}

// Sort puts what was read in order.
func (x *IDs) Sort() {
	slices.SortFunc(x.All, func(a, b ID) int { return cmp.Compare(a.ID, b.ID) })
	all := x.All
	*x = IDs{Unowned: x.Unowned}
	for _, a := range all {
		x.Add(a.ID, a.User)
	}
}

// Standing says under which conditions a submission may use an id that no application has.
type Standing uint8

// Standings of ids.
const (
	None    Standing = iota // it was never issued, or its application was forgotten, or it was dropped as the oldest of very many
	Owned                   // only its user may use it
	Unowned                 // it was issued before users were recorded: any user may use it
)

// To returns the standing of a number, and the user it was issued to if it is Owned. last is the number that was issued last.
func (x *IDs) To(id, last int32) (Standing, string) {
	if i, ok := x.find(id); ok {
		return Owned, x.All[i].User
	}
	if id > 0 && id <= x.Unowned && int64(last) <= int64(x.Unowned)+Grace {
		return Unowned, ""
	}
	return None, ""
}

// Check returns an error unless each id is counted once, for its user.
func (x *IDs) Check() error {
	n := 0
	for user, ids := range x.Of {
		n += len(ids)
		for _, id := range ids {
			if i, ok := x.find(id); !ok || x.All[i].User != user {
				return fmt.Errorf("application number %d was issued to %s, and isn't among all issued ones", id, user)
			}
		}
	}
	if n != len(x.All) {
		return fmt.Errorf("%d application numbers were issued to users, and %d in all", n, len(x.All))
	}
	return nil
}
