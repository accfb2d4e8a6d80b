package ledger

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/yarn/records"
)

// Containers do what a map would, in the order of ids.
func TestContainersAreAMapInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c, frozen Containers
		var asFrozen []Container
		model := map[records.ContainerID]Container{}
		ids := rapid.Custom(func(t *rapid.T) records.ContainerID {
			return records.ContainerID{
				Attempt: records.AttemptID{
					App:     records.ApplicationID{ClusterTimestamp: 1, ID: 7},
					Attempt: rapid.Int32Range(1, 3).Draw(t, "attempt"),
				},
				ID: rapid.Int64Range(0, 2).Draw(t, "epoch")<<records.EpochShift | rapid.Int64Range(1, 200).Draw(t, "sequence"),
			}
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				model[id] = Container{ID: id}
				if got := c.Put(&Container{ID: id}); got != c.Get(id) {
					t.Fatalf("%v was put elsewhere", id)
				}
			},
			"remove": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				c.remove(id)
				delete(model, id)
			},
			"change": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				want, there := model[id]
				if got := c.mutable(id); there != (got != nil) {
					t.Fatalf("%v is %v", id, got)
				} else if there {
					want.Priority++
					model[id] = want
					got.Priority++
				}
			},
			"freeze": func(*rapid.T) {
				asFrozen = valuesOf(&c)
				frozen = c.freeze()
			},
			"": func(t *rapid.T) {
				if got := valuesOf(&frozen); !reflect.DeepEqual(got, asFrozen) {
					t.Fatalf("what was frozen as %v is %v", asFrozen, got)
				}
				id := ids.Draw(t, "id")
				want, there := model[id]
				if got := c.Get(id); there != (got != nil) || there && !reflect.DeepEqual(*got, want) {
					t.Fatalf("%v is %v instead of %v", id, got, want)
				}
				id.Attempt.App.ID++
				if c.remove(id); c.Get(id) != nil || c.mutable(id) != nil {
					t.Fatalf("%v is another application's", id)
				}
				var got []records.ContainerID
				for cont := range c.All() {
					got = append(got, cont.ID)
				}
				if want := slices.SortedFunc(maps.Keys(model), records.ContainerID.Compare); !slices.Equal(got, want) || c.Len() != len(want) {
					t.Fatalf("%d: %v instead of %v", c.Len(), got, want)
				}
			},
		})
		for cont := range c.All() { // with the one after it, which then isn't come to
			if cont.ID.ID%2 == 0 {
				next := cont.ID
				next.ID++
				if after := c.Get(next); after != nil {
					c.remove(after.ID)
				}
			}
			c.remove(cont.ID)
		}
		if c.Len() != 0 || len(c.pages) != 0 {
			t.Fatalf("%d are left, in %d pages", c.Len(), len(c.pages))
		}
	})
}

func valuesOf(c *Containers) (all []Container) {
	for cont := range c.All() {
		all = append(all, *cont)
	}
	return all
}

func TestContainersInARowShareAPage(t *testing.T) {
	var c Containers
	for i := range int64(2 * pageSize) {
		c.Put(&Container{ID: container(1, 1, i)})
	}
	if len(c.pages) != 2 {
		t.Errorf("%d pages", len(c.pages))
	}
}

// Who goes through containers may stop, and may take out those that are still to come.
func TestContainersMayGoWhileSomebodyGoesThroughThem(t *testing.T) {
	var c Containers
	for i := range int64(3) {
		c.Put(&Container{ID: container(1, 1, i*pageSize)})
	}
	var seen []int64
	for cont := range c.All() {
		seen = append(seen, cont.ID.ID)
		if next := c.Get(container(1, 1, pageSize)); next != nil {
			c.remove(next.ID)
		}
		if cont.ID.ID > 0 {
			break
		}
	}
	if !slices.Equal(seen, []int64{0, 2 * pageSize}) {
		t.Errorf("%v", seen)
	}
}
